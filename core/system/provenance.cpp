// Provenance of a report.

#include "core/system/provenance.hpp"

#include <gnu/libc-version.h>
#include <hwloc.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "core/system/build_info.hpp"
#include "core/system/clock.hpp"

namespace plimsoll::sys {
namespace {

// Variables that change how fast things are. Anything else stays private.
constexpr std::array kVariables = {"OMP_NUM_THREADS",
                                   "OMP_PROC_BIND",
                                   "OMP_PLACES",
                                   "OMP_WAIT_POLICY",
                                   "GOMP_CPU_AFFINITY",
                                   "GOMP_SPINCOUNT",
                                   "KMP_AFFINITY",
                                   "ONEDNN_MAX_CPU_ISA",
                                   "DNNL_MAX_CPU_ISA",
                                   "ONEDNN_VERBOSE",
                                   "DNNL_VERBOSE",
                                   "GLIBC_TUNABLES",
                                   "MALLOC_ARENA_MAX",
                                   "CUDA_VISIBLE_DEVICES",
                                   "CUDA_DEVICE_MAX_CONNECTIONS",
                                   "CUDA_LAUNCH_BLOCKING",
                                   "NCCL_ALGO",
                                   "NCCL_PROTO",
                                   "NCCL_P2P_DISABLE",
                                   "NCCL_SHM_DISABLE",
                                   "NCCL_SOCKET_IFNAME",
                                   "NCCL_IB_DISABLE",
                                   "RANK",
                                   "LOCAL_RANK",
                                   "WORLD_SIZE",
                                   "LOCAL_WORLD_SIZE",
                                   "SLURM_PROCID",
                                   "SLURM_NTASKS",
                                   "OMPI_COMM_WORLD_RANK",
                                   "OMPI_COMM_WORLD_SIZE",
                                   "PLIMSOLL_FSROOT"};

// The value behind "name : " in /proc/cpuinfo, of the first CPU.
std::string cpuinfo_field(std::string_view cpuinfo, std::string_view name) {
  for (std::string_view line : split(cpuinfo, '\n')) {
    const auto colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == name)
      return std::string(trim(line.substr(colon + 1)));
  }
  return "";
}

std::string first_of(const std::string& root, std::initializer_list<const char*> paths) {
  for (const char* path : paths) {
    auto text = read_file(root, path).value_or("");
    text.erase(std::remove(text.begin(), text.end(), '\0'), text.end());
    if (!text.empty()) return valid_utf8(text);
  }
  return "";
}

void describe_host(const std::string& root, std::string_view cpuinfo, Environment& environment) {
  utsname names{};
  uname(&names);
  environment.hostname = valid_utf8(names.nodename);
  environment.kernel = valid_utf8(std::string(names.sysname) + " " + names.release);
  environment.architecture = names.machine;
  environment.vendor = first_of(root, {"/sys/class/dmi/id/sys_vendor", "/proc/device-tree/model"});
  const std::string flags = " " + cpuinfo_field(cpuinfo, "flags") + " ";
  environment.hypervisor = first_of(root, {"/sys/hypervisor/type"});
  environment.virtualised =
      flags.find(" hypervisor ") != std::string::npos || !environment.hypervisor.empty();
  if (environment.virtualised && environment.hypervisor.empty() && root.empty())
    environment.hypervisor = hypervisor_signature();
  if (environment.virtualised && environment.hypervisor.empty())
    environment.hypervisor = first_of(root, {"/sys/class/dmi/id/product_name"});
  const std::string release = read_file(root, "/etc/os-release").value_or("");
  for (std::string_view line : split(release, '\n')) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    line.remove_prefix(12);
    if (line.size() >= 2 && line.front() == '"') line = line.substr(1, line.size() - 2);
    environment.distribution = valid_utf8(line);
  }
}

Known<std::string> governor(const std::string& root, const CpuSet& cpus) {
  std::set<std::string> seen;
  for (int cpu : cpus)
    if (const auto text = read_file(root, "/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                                              "/cpufreq/scaling_governor"))
      seen.insert(valid_utf8(*text));
  if (seen.empty())
    return {{}, "no cpufreq directory: the kernel or hypervisor does not expose it"};
  std::string text;
  for (const std::string& name : seen) text += (text.empty() ? "" : ", ") + name;
  return {text, ""};
}

Known<double> frequency(const std::string& root, const CpuSet& cpus) {
  double largest = 0;
  for (int cpu : cpus)
    if (const auto kilohertz =
            read_integer(root, "/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                                   "/cpufreq/scaling_cur_freq"))
      largest = std::max(largest, static_cast<double>(*kilohertz) * 1e3);
  if (largest > 0) return {largest, ""};
  return {{}, "no cpufreq directory: the kernel or hypervisor does not expose it"};
}

void describe_cpu(const std::string& root, std::string_view cpuinfo, const Topology& topology,
                  Environment& environment) {
  environment.cpu_model = valid_utf8(cpuinfo_field(cpuinfo, "model name"));
  if (environment.cpu_model.empty() && !cpuinfo_field(cpuinfo, "CPU part").empty())
    environment.cpu_model = valid_utf8("implementer " + cpuinfo_field(cpuinfo, "CPU implementer") +
                                       " part " + cpuinfo_field(cpuinfo, "CPU part"));
  environment.present_cpus = format_cpulist(topology.present);
  environment.online_cpus = format_cpulist(topology.online);
  environment.usable_cpus = format_cpulist(topology.usable);
  environment.sockets = topology.packages;
  environment.cores = static_cast<int>(topology.cores.size());
  environment.hardware_threads = topology.online.count();
  environment.governor = governor(root, topology.online);
  environment.frequency_hz = frequency(root, topology.online);
  environment.isa = instruction_sets();
  for (const Cache& cache : topology.caches) {
    std::optional<std::int64_t> size;
    if (cache.size) size = static_cast<std::int64_t>(cache.size->value());
    const auto same = std::find_if(
        environment.caches.begin(), environment.caches.end(), [&](const CacheFact& fact) {
          return fact.level == cache.level && fact.type == cache.type && fact.size_bytes == size;
        });
    if (same == environment.caches.end())
      environment.caches.push_back({cache.level, cache.type, size, 1});
    else
      ++same->instances;
  }
  for (const NumaNode& node : topology.numa)
    environment.numa.push_back(
        {node.id, static_cast<std::int64_t>(node.memory.value()), format_cpulist(node.cpus)});
}

void describe_memory(const std::string& root, const Topology& topology, const Cgroup& cgroup,
                     Environment& environment) {
  const std::string meminfo = read_file(root, "/proc/meminfo").value_or("");
  // The kernel's total without memory-only nodes. The nodes' own figures come second: they do not
  // follow memory that a hypervisor adds later.
  std::int64_t total = meminfo_bytes(meminfo, "MemTotal").value_or(0);
  for (const NumaNode& node : topology.numa)
    if (node.cpus.empty()) total -= static_cast<std::int64_t>(node.memory.value());
  if (total <= 0) total = static_cast<std::int64_t>(system_memory(topology).value());
  environment.memory_bytes = total;
  environment.available_bytes = meminfo_bytes(meminfo, "MemAvailable").value_or(0);
  environment.memory_limit_bytes.reason = cgroup.memory_limit.reason;
  if (cgroup.memory_limit.value)
    environment.memory_limit_bytes = {static_cast<std::int64_t>(cgroup.memory_limit.value->value()),
                                      ""};
  // "always [madvise] never": the word in brackets is in force.
  const std::string pages =
      read_file(root, "/sys/kernel/mm/transparent_hugepage/enabled").value_or("");
  const auto open = pages.find('['), close = pages.find(']');
  environment.transparent_huge_pages = open == std::string::npos || close < open
                                           ? "unknown"
                                           : pages.substr(open + 1, close - open - 1);
}

Known<std::int64_t> locked_memory_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return {{}, "the kernel does not tell it"};
  if (limit.rlim_cur == RLIM_INFINITY) return {{}, "no limit"};
  return {static_cast<std::int64_t>(limit.rlim_cur), ""};
}

}  // namespace

std::optional<double> steal_ratio(const std::string& root) {
  const std::string stat = read_file(root, "/proc/stat").value_or("");
  const std::string_view line = std::string_view(stat).substr(0, stat.find('\n'));
  if (!line.starts_with("cpu ")) return std::nullopt;
  // user nice system idle iowait irq softirq steal; guest time is part of user already.
  std::vector<double> fields;
  for (std::string_view field : split(line.substr(4), ' '))
    if (const auto ticks = parse_integer(field)) fields.push_back(static_cast<double>(*ticks));
  if (fields.size() < 8) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < 8; ++i) sum += fields[i];
  if (sum <= 0) return std::nullopt;
  return fields[7] / sum;
}

Environment describe_environment(const std::string& root, const Libraries& more) {
  Environment environment = describe_environment(root, read_topology(root), read_cgroup(root));
  environment.libraries.insert(more.begin(), more.end());
  return environment;
}

Environment describe_environment(const std::string& root, const Topology& topology,
                                 const Cgroup& cgroup) {
  Environment environment;
  const std::string cpuinfo = read_file(root, "/proc/cpuinfo").value_or("");
  describe_host(root, cpuinfo, environment);
  describe_cpu(root, cpuinfo, topology, environment);
  describe_memory(root, topology, cgroup, environment);
  environment.cpu_quota = cgroup.cpu_quota;
  if (environment.cpu_quota.value) environment.cpu_quota.reason.clear();
  environment.clock_source =
      first_of(root, {"/sys/devices/system/clocksource/clocksource0/current_clocksource"});
  if (environment.clock_source.empty()) environment.clock_source = "unknown";
  environment.memlock_bytes = locked_memory_limit();
  const ClockFacts clock = measure_clock();
  environment.clock_resolution_s = clock.resolution.value();
  environment.clock_cost_s = clock.cost.value();
  const auto hwloc = hwloc_get_api_version();
  environment.libraries["hwloc"] = std::to_string(hwloc >> 16) + "." +
                                   std::to_string((hwloc >> 8) & 0xFF) + "." +
                                   std::to_string(hwloc & 0xFF);
  environment.libraries["glibc"] = gnu_get_libc_version();
  const std::string load = read_file(root, "/proc/loadavg").value_or("");
  // Locale-independent: "0.52 ..." always has a point, and strtod would follow the locale.
  const auto whole = parse_integer(std::string_view(load).substr(0, load.find('.')));
  const auto point = load.find('.');
  if (whole && point != std::string::npos)
    environment.load_average =
        static_cast<double>(*whole) +
        static_cast<double>(parse_integer(load.substr(point + 1, 2)).value_or(0)) / 100;
  environment.steal_ratio = steal_ratio(root);
  return environment;
}

Tool describe_tool() {
  const BuildInfo build = build_info();
  Tool tool;
  tool.version = build.version;
  tool.git_commit = build.git_commit;
  tool.git_dirty = build.git_dirty;
  tool.compiler = build.compiler;
  tool.flags = build.flags;
  tool.build_type = build.build_type;
  return tool;
}

Command describe_command(std::vector<std::string> argv, std::optional<std::int64_t> seed) {
  Command command;
  for (std::string& word : argv) command.argv.push_back(valid_utf8(word));
  command.seed = seed;
  for (const char* name : kVariables)
    if (const char* value = std::getenv(name)) command.variables[name] = valid_utf8(value);
  return command;
}

}  // namespace plimsoll::sys
