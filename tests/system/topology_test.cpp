// Topology of made-up machines: offline CPUs, odd nodes, absurd caches.

#include "core/system/topology.hpp"

#include <algorithm>

#include "core/system/affinity.hpp"
#include "tests/catch.hpp"
#include "tests/system/tree.hpp"

namespace plimsoll::sys {

using testing::Tree;

TEST_CASE("this machine: usable CPUs are online, and every usable CPU is handed out once") {
  const Topology topology = read_topology("");
  CHECK_FALSE(topology.usable.empty());
  CHECK(both(topology.usable, topology.online) == topology.usable);
  CHECK(both(topology.online, topology.present) == topology.online);
  const CpuSet order(cpus_by_core(topology));
  CHECK(order == topology.usable);
  CHECK(default_threads("") >= 1);
  CHECK(default_threads("") <= topology.usable.count());
}

TEST_CASE("an affinity mask makes fewer CPUs usable, with their own ids") {
  const CpuSet before = affinity();
  const ScopedPin one(CpuSet{before.last()});
  CHECK(read_topology("").usable == CpuSet{before.last()});
  CHECK(read_topology("").online.count() >= before.count());
}

TEST_CASE("CPU 0 offline: present, online and usable stay apart; it is in no group") {
  const Tree tree("cpu0_offline");
  const Topology topology = read_topology(tree.root());
  CHECK(format_cpulist(topology.present) == "0-3");
  CHECK(format_cpulist(topology.online) == "1-3");
  CHECK(format_cpulist(topology.usable) == "1-3");
  CHECK(topology.cores.size() == 3);
  for (const Core& core : topology.cores) CHECK_FALSE(core.cpus.contains(0));
  for (const Cache& cache : topology.caches) CHECK_FALSE(cache.cpus.contains(0));
  for (const NumaNode& node : topology.numa) CHECK_FALSE(node.cpus.contains(0));
  CHECK(cpus_by_core(topology) == std::vector<int>{1, 2, 3});
}

TEST_CASE("CPU numbers with gaps, one above 1023") {
  const Tree tree("sparse_ids");
  const Topology topology = read_topology(tree.root());
  CHECK(format_cpulist(topology.usable) == "0-3,64-67,1024");
  CHECK(topology.cores.size() == 9);
  REQUIRE(topology.numa.size() == 2);
  CHECK(format_cpulist(topology.numa[1].cpus) == "64-67,1024");
  CHECK(topology.packages == 3);
}

TEST_CASE("a node with CPUs and no memory stays; the nearest node with memory is found") {
  const Tree tree("memoryless_node");
  const Topology topology = read_topology(tree.root());
  REQUIRE(topology.numa.size() == 2);
  CHECK(topology.numa[0].memory == Bytes(0));
  CHECK(format_cpulist(topology.numa[0].cpus) == "0-1");
  CHECK(nearest_memory_node(topology, 0) == 1);
  CHECK(nearest_memory_node(topology, 1) == 1);
  CHECK(topology.cores.front().numa == 0);
}

TEST_CASE("a memory-only node with a sparse number is not system memory") {
  const Tree tree("cpuless_node");
  const Topology topology = read_topology(tree.root());
  REQUIRE(topology.numa.size() == 2);
  CHECK(topology.numa[1].id == 4);
  CHECK(topology.numa[1].cpus.empty());
  CHECK(topology.numa[1].memory == Bytes(96.0 * 1024 * 1024 * 1024));
  CHECK(system_memory(topology) == Bytes(8.0 * 1024 * 1024 * 1024));
  CHECK(nearest_memory_node(topology, 7) == 0);
}

TEST_CASE("absurd cache sizes are unknown, said once a level, and working sets stay sane") {
  const Tree tree("bad_cache");
  const Topology topology = read_topology(tree.root());
  for (const Cache& cache : topology.caches)
    CHECK(cache.size.has_value() == (cache.type == "instruction"));
  CHECK(topology.findings.size() == 3);
  for (const Finding& finding : topology.findings) CHECK(finding.id == "cache.size");
  CHECK_FALSE(summed_last_level_cache(topology));
  CHECK(beyond_cache(topology) >= Bytes(8.0 * 1024 * 1024));
}

TEST_CASE("eight last-level caches of 32 MiB add up") {
  const Tree tree("eight_llc");
  const Topology topology = read_topology(tree.root());
  CHECK(summed_last_level_cache(topology) == Bytes(256.0 * 1024 * 1024));
  CHECK(beyond_cache(topology) == Bytes(4 * 256.0 * 1024 * 1024));
  CHECK(default_threads(tree.root()) == 16);
}

TEST_CASE("a cpuset in a made-up root narrows what is usable") {
  Tree tree("eight_llc");
  tree.add("/sys/fs/cgroup/cpuset.cpus.effective", "4-7\n")
      .add("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  CHECK(format_cpulist(read_topology(tree.root()).usable) == "4-7");
  CHECK(default_threads(tree.root()) == 2);
}

TEST_CASE("a root that describes no CPUs still gives a topology, with a finding") {
  const Tree tree;
  const Topology topology = read_topology(tree.root());
  CHECK_FALSE(topology.usable.empty());
  CHECK(topology.cores.size() == static_cast<std::size_t>(topology.online.count()));
  REQUIRE_FALSE(topology.findings.empty());
  CHECK(topology.findings.front().id == "topology.unreadable");
}

TEST_CASE("siblings are handed out after every core has one") {
  Topology topology;
  topology.online = topology.usable = CpuSet{0, 1, 2, 3, 9};
  topology.cores = {{.cpus = CpuSet{0, 2}}, {.cpus = CpuSet{1, 3}}};
  CHECK(cpus_by_core(topology) == std::vector<int>{0, 1, 2, 3, 9});
}

TEST_CASE("quota to threads") {
  const auto limited = [](double cpus) { return Known<double>{cpus, ""}; };
  CHECK(default_threads(2, {std::nullopt, "no limit"}) == 2);
  CHECK(default_threads(2, limited(0.01)) == 1);
  CHECK(default_threads(2, limited(0.5)) == 1);
  CHECK(default_threads(2, limited(1.0)) == 1);
  CHECK(default_threads(2, limited(1.5)) == 2);
  CHECK(default_threads(2, limited(1e300)) == 2);
}

}  // namespace plimsoll::sys
