// The table of checks, read from the top: processor, memory, storage, network, GPU, build.

#include "core/system/doctor.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "core/system/doctor_checks.hpp"
#include "core/system/provenance.hpp"

namespace plimsoll::sys {
namespace {

constexpr std::array kChecks = std::to_array<Check>({
    {"cpu.governor", "Does the frequency governor keep processors at full speed?",
     "short probes run before the clock has risen and read slow", check_governor},
    {"cpu.frequency", "Is the processor's frequency known?",
     "no figure is derived from a frequency that nobody tells", check_frequency},
    {"cpu.boost", "Does the processor raise its clock when few cores are busy?",
     "one core alone is faster than the same core with busy neighbours", check_boost},
    {"cpu.siblings", "Do usable CPUs share cores (SMT)?",
     "two threads on one core share its units and caches", check_siblings},
    {"cpu.offline", "Are CPUs present but offline?", "they are in no figure", check_offline},
    {"cpu.usable", "May this process use every online CPU?",
     "thread counts and predictions are for the usable CPUs only", check_usable},
    {"cgroup.cpu_quota", "Does a control group limit CPU time?",
     "more threads than granted CPUs are stopped for part of every period", check_quota},
    {"cgroup.throttled", "Was this group stopped for using up its CPU time?",
     "measurements include the time of being stopped", check_throttled},
    {"cgroup.unreadable", "Could all control group limits be understood?",
     "a limit may be in force that is taken as none", nullptr},
    {"topology.unreadable", "Can the hardware topology be read?",
     "every usable CPU is taken as a core of its own", nullptr},
    {"topology.contradiction", "Do the kernel's files and its calls agree on the CPUs?",
     "thread counts may not fit the machine", nullptr},
    {"host.virtualised", "Is this a virtual machine?",
     "neighbours on the same host move every figure from minute to minute", check_virtualised},
    {"host.steal", "Did the hypervisor give CPU time to other guests?",
     "samples are longer than the work in them", check_steal},
    {"host.load", "Is the machine busy with something else?",
     "figures are lower and noisier than the machine's own", check_load},
    {"clock.source", "Is the clock fine and cheap to read?",
     "latencies near the clock's step or cost cannot be told apart", check_clock_source},
    {"clock.steps", "Does the steady clock move, and only forward?",
     "intervals are wrong; those that are negative are dropped and counted", check_clock_steps},
    {"cache.size", "Can the cache sizes that the machine tells be true?",
     "unknown sizes are left out when working sets are chosen", nullptr},
    {"cache.unknown", "Is the size of any data cache known?", "working sets are chosen without it",
     check_last_level_cache},
    {"memory.numa_balancing", "Does the kernel move pages between nodes by itself?",
     "pages move during a measurement", check_numa_balancing},
    {"memory.nodes", "Does every NUMA node have CPUs and memory?",
     "memory of the nearest node is used; memory-only nodes are not counted", check_numa_nodes},
    {"memory.huge_pages", "Can programs ask for transparent huge pages?",
     "large working sets pay for address translation", check_huge_pages},
    {"memory.limit", "Does a control group limit memory?",
     "buffers are sized from the limit, not from the machine", check_memory_limit},
    {"memory.available", "Is there enough free memory for the default sizes?",
     "working sets are smaller, and may fit into caches", check_available},
    {"limits.memlock", "May programs lock memory?",
     "large pinned buffers are not possible: copies to GPUs and network cards are staged",
     check_locked_memory},
    {"limits.shm", "Is /dev/shm large enough for shared buffers?",
     "communication between processes fails or falls back to sockets", check_shared_memory},
    {"storage.direct_io", "Is direct I/O allowed in the folder for temporary files?",
     "storage probes there would measure the page cache", check_direct_io},
    {"storage.io_uring", "Is io_uring allowed?",
     "storage probes use threads with pread instead, which costs more CPU", check_io_uring},
    {"network.link_speed", "Do network interfaces tell their speed?",
     "network limits come from measurements only", check_link_speed},
    {"mpi.root", "Will mpirun start for this user?", "training with --comm mpi does not start",
     check_mpi_root},
    {"gpu.driver", "Can the GPUs be used?", "GPU probes and training are skipped",
     check_gpu_driver},
    {"gpu.management", "Does the GPU management library work?",
     "clocks, power and link widths of GPUs are unknown", check_gpu_management},
    {"gpu.memory", "Is the GPUs' memory free?",
     "buffers are smaller; another process disturbs timings", check_gpu_memory},
    {"build.parts", "Were all optional parts built?",
     "what the missing parts provide is skipped, with this reason", check_parts},
    {"build.type", "Was this program built for speed?",
     "our own loops are slower than the machine; libraries are not", check_build_type},
});

}  // namespace

Facts gather_facts(const std::string& root) {
  Facts facts;
  facts.root = root;
  facts.topology = read_topology(root);
  facts.cgroup = read_cgroup(root);
  facts.environment = describe_environment(root, facts.topology, facts.cgroup);
  facts.clock = measure_clock();
  facts.cuda = cuda_facts();
  facts.nvml = nvml_facts();
  facts.network = network_interfaces(root);
  return facts;
}

std::span<const Check> checks() { return kChecks; }

std::vector<Finding> diagnose(const Facts& facts, const std::string& only) {
  const bool known = std::any_of(kChecks.begin(), kChecks.end(),
                                 [&](const Check& check) { return check.id == only; });
  if (!only.empty() && !known) {
    std::string ids;
    for (const Check& check : kChecks) ids += (ids.empty() ? "" : " ") + std::string(check.id);
    throw usage_error("unknown check: " + only, "--only", "one of: " + ids);
  }
  std::vector<Finding> findings;
  for (const Check& check : kChecks) {
    if (!only.empty() && check.id != only) continue;
    if (check.look == nullptr) {
      for (const auto* list : {&facts.topology.findings, &facts.cgroup.findings})
        for (const Finding& finding : *list)
          if (finding.id == check.id) findings.push_back(finding);
    } else if (auto finding = check.look(facts)) {
      finding->id = check.id;
      finding->effect = check.effect;
      findings.push_back(std::move(*finding));
    }
  }
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return static_cast<int>(a.severity) > static_cast<int>(b.severity);
  });
  return findings;
}

}  // namespace plimsoll::sys
