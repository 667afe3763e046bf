// What the machine is made of (hwloc and the kernel's files) and what of it this process may use.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/system/cgroup.hpp"
#include "core/system/cpulist.hpp"
#include "core/system/files.hpp"
#include "core/units.hpp"

namespace plimsoll::sys {

struct Core {
  int package = 0;
  int numa = -1;  // id of the node its CPUs belong to; -1 unknown
  CpuSet cpus;    // online hardware threads
};

struct Cache {
  int level = 0;
  std::string type;           // data | unified | instruction
  std::optional<Bytes> size;  // nothing: unknown or absurd (a finding says so)
  CpuSet cpus;                // online CPUs that share it
};

struct NumaNode {
  int id = 0;
  Bytes memory;                // 0: no memory of its own
  CpuSet cpus;                 // empty: memory only (CXL, GPU)
  std::vector<int> distances;  // to the nodes in the order of Topology::numa; may be empty
};

struct Topology {
  CpuSet present, online, usable;  // usable: online, in the affinity mask and in the cpuset
  int packages = 0;
  std::vector<Core> cores;  // online cores only
  std::vector<Cache> caches;
  std::vector<NumaNode> numa;
  std::vector<Finding> findings;  // cache sizes treated as unknown and the like
};

[[nodiscard]] Topology read_topology(const std::string& root = fs_root());

// All data caches of the last level together (eight of 32 MiB are 256 MiB); nothing when unknown.
[[nodiscard]] std::optional<Bytes> summed_last_level_cache(const Topology& topology);

// Bytes that certainly do not fit into the caches: four times their sum, at least 64 MiB, whatever
// nonsense the machine tells about its caches.
[[nodiscard]] Bytes beyond_cache(const Topology& topology);

// Memory of nodes that have CPUs: memory-only nodes do not count as system memory.
[[nodiscard]] Bytes system_memory(const Topology& topology);

// The closest node that has memory, the node itself first; nothing when no node has any.
[[nodiscard]] std::optional<int> nearest_memory_node(const Topology& topology, int node);

// One CPU of each usable core first, then their siblings: the order in which to hand out CPUs.
[[nodiscard]] std::vector<int> cpus_by_core(const Topology& topology);

// CPU-time quota rounded up, at least 1, at most the usable CPUs.
[[nodiscard]] int default_threads(int usable_cpus, const Known<double>& cpu_quota);
[[nodiscard]] int default_threads(const std::string& root = fs_root());

}  // namespace plimsoll::sys
