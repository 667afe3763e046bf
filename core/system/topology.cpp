// Topology: structure from hwloc, numbers and CPU states from the kernel's own files, permission
// from affinity and cgroup. Where the sources contradict each other the stricter one wins.

#include "core/system/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "core/error.hpp"
#include "core/system/affinity.hpp"

namespace plimsoll::sys {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Hwloc = std::unique_ptr<hwloc_topology, DestroyTopology>;

// hwloc takes a made-up root only from the environment. Restored on destruction; used only when a
// root is given, which is not a thing to do while other threads read the environment.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() {
    if (old_)
      setenv(name_, old_->c_str(), 1);
    else
      unsetenv(name_);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

// Null when hwloc finds no CPUs, as below a root that describes something else.
Hwloc load_hwloc(const std::string& root) {
  std::optional<ScopedVariable> fs, system, components, quiet;
  if (!root.empty()) {
    fs.emplace("HWLOC_FSROOT", root);
    system.emplace("HWLOC_THISSYSTEM", "0");
    components.emplace("HWLOC_COMPONENTS", "linux,-x86,stop");
    quiet.emplace("HWLOC_HIDE_ERRORS", "2");
  }
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    throw Error("cannot create a hardware topology", "hwloc", "check memory limits");
  Hwloc topology(raw);
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(raw) != 0) topology.reset();
  return topology;
}

CpuSet to_set(hwloc_const_bitmap_t bitmap) {
  std::vector<int> ids;
  if (bitmap != nullptr && hwloc_bitmap_weight(bitmap) >= 0)
    for (int id = hwloc_bitmap_first(bitmap); id >= 0; id = hwloc_bitmap_next(bitmap, id))
      ids.push_back(id);
  return CpuSet(std::move(ids));
}

// A CPU list from a file; nothing when missing or malformed.
std::optional<CpuSet> read_cpulist(const std::string& root, const std::string& path) {
  const auto text = read_file(root, path);
  if (!text) return std::nullopt;
  try {
    return parse_cpulist(*text, path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void read_cpu_sets(const std::string& root, hwloc_topology* hwloc, Topology& topology) {
  const std::string folder = "/sys/devices/system/cpu/";
  topology.online = read_cpulist(root, folder + "online").value_or(CpuSet());
  if (topology.online.empty() && hwloc != nullptr)
    topology.online = to_set(hwloc_topology_get_topology_cpuset(hwloc));
  if (topology.online.empty()) topology.online = affinity();
  topology.present = read_cpulist(root, folder + "present").value_or(topology.online);
  topology.usable = root.empty() ? both(topology.online, affinity()) : topology.online;
  const auto allowed = read_cgroup(root).cpuset;
  if (allowed && !both(topology.usable, *allowed).empty())
    topology.usable = both(topology.usable, *allowed);
  if (topology.usable.empty()) {
    topology.usable = affinity();
    topology.findings.push_back({"topology.contradiction", Severity::warning,
                                 "no CPU of the affinity mask is online according to /sys",
                                 "the affinity mask is believed",
                                 "mount the /sys that belongs to this kernel"});
  }
}

void read_cores(hwloc_topology* hwloc, Topology& topology) {
  if (hwloc == nullptr) {
    topology.packages = 1;
    for (int cpu : topology.online) topology.cores.push_back({.cpus = CpuSet{cpu}});
    topology.findings.push_back({"topology.unreadable", Severity::warning,
                                 "the hardware topology cannot be read",
                                 "every usable CPU is taken as a core of its own",
                                 "mount /sys and /proc, or unset PLIMSOLL_FSROOT"});
    return;
  }
  topology.packages = std::max(hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_PACKAGE), 1);
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_CORE, object)) != nullptr) {
    Core core;
    core.cpus = both(to_set(object->cpuset), topology.online);
    if (core.cpus.empty()) continue;
    const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(hwloc, HWLOC_OBJ_PACKAGE, object);
    if (package != nullptr) core.package = static_cast<int>(package->logical_index);
    topology.cores.push_back(core);
  }
  if (!topology.cores.empty()) return;
  for (int cpu : topology.online) topology.cores.push_back({.cpus = CpuSet{cpu}});
}

// "32K", "8192K", "32M", "56" as bytes; nothing for an empty or odd text.
std::optional<std::int64_t> parse_cache_size(std::string_view text) {
  std::int64_t unit = 1;
  if (text.ends_with('K')) unit = 1024;
  if (text.ends_with('M')) unit = 1024 * 1024;
  if (text.ends_with('G')) unit = 1024 * 1024 * 1024;
  if (unit > 1) text.remove_suffix(1);
  const auto number = parse_integer(text);
  if (!number || *number < 0 || *number > (std::int64_t{1} << 20)) return std::nullopt;
  return *number * unit;
}

std::string cache_type(std::string_view kernel_name) {
  if (kernel_name == "Data") return "data";
  return kernel_name == "Instruction" ? "instruction" : "unified";
}

// One cache directory of one CPU; nothing without a level.
std::optional<Cache> read_cache(const std::string& root, const std::string& folder, int cpu,
                                std::vector<Finding>& findings) {
  const auto level = read_integer(root, folder + "/level");
  if (!level || *level < 1 || *level > 8) return std::nullopt;
  Cache cache;
  cache.level = static_cast<int>(*level);
  cache.type = cache_type(read_file(root, folder + "/type").value_or("Unified"));
  cache.cpus = read_cpulist(root, folder + "/shared_cpu_list").value_or(CpuSet{cpu});
  if (!cache.cpus.contains(cpu)) cache.cpus.insert(cpu);
  const std::string text = read_file(root, folder + "/size").value_or("");
  const auto size = parse_cache_size(text);
  const std::int64_t line =
      std::max<std::int64_t>(read_integer(root, folder + "/coherency_line_size").value_or(16), 16);
  if (size && *size >= line) {
    cache.size = Bytes(static_cast<double>(*size));
  } else {
    findings.push_back({"cache.size", Severity::warning,
                        "level " + std::to_string(cache.level) + " " + cache.type +
                            " cache of CPU " + std::to_string(cpu) + ": size \"" +
                            valid_utf8(text) + "\" cannot be true",
                        "its size is treated as unknown; working sets are chosen without it",
                        "none needed; a firmware or hypervisor update may tell the truth"});
  }
  return cache;
}

// The kernel's cache directories: hwloc reads "56" (bytes) as 56 KiB, so sizes are parsed here.
void read_caches(const std::string& root, Topology& topology) {
  std::vector<Finding> findings;
  for (int cpu : topology.online) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache";
    for (const std::string& name : list_directory(root, folder)) {
      if (!name.starts_with("index")) continue;
      std::vector<Finding> odd;
      auto cache = read_cache(root, folder + "/" + name, cpu, odd);
      if (!cache) continue;
      cache->cpus = both(cache->cpus, topology.online);
      const bool known =
          std::any_of(topology.caches.begin(), topology.caches.end(), [&](const Cache& other) {
            return other.level == cache->level && other.type == cache->type &&
                   other.cpus.contains(cpu);
          });
      if (known) continue;
      const bool told = std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
        return !odd.empty() && f.message.substr(0, 14) == odd.front().message.substr(0, 14);
      });
      if (!told) findings.insert(findings.end(), odd.begin(), odd.end());
      topology.caches.push_back(std::move(*cache));
    }
  }
  topology.findings.insert(topology.findings.end(), findings.begin(), findings.end());
}

// Without cache directories (some virtual machines, ARM boards): what hwloc finds by cpuid.
void read_caches_from_hwloc(hwloc_topology* hwloc, Topology& topology) {
  for (int depth = 0; depth < hwloc_topology_get_depth(hwloc); ++depth) {
    if (!hwloc_obj_type_is_cache(hwloc_get_depth_type(hwloc, depth))) continue;
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_depth(hwloc, depth, object)) != nullptr) {
      Cache cache;
      cache.level = static_cast<int>(object->attr->cache.depth);
      cache.type = object->attr->cache.type == HWLOC_OBJ_CACHE_DATA          ? "data"
                   : object->attr->cache.type == HWLOC_OBJ_CACHE_INSTRUCTION ? "instruction"
                                                                             : "unified";
      cache.cpus = both(to_set(object->cpuset), topology.online);
      const auto size = object->attr->cache.size;
      if (size >= std::max<std::uint64_t>(object->attr->cache.linesize, 16))
        cache.size = Bytes(static_cast<double>(size));
      if (!cache.cpus.empty()) topology.caches.push_back(cache);
    }
  }
}

void read_numa(const std::string& root, hwloc_topology* hwloc, Topology& topology) {
  const std::string folder = "/sys/devices/system/node";
  for (const std::string& name : list_directory(root, folder)) {
    const auto id = name.starts_with("node") ? parse_integer(name.substr(4)) : std::nullopt;
    if (!id) continue;
    NumaNode node;
    node.id = static_cast<int>(*id);
    const std::string path = folder + "/" + name;
    node.memory = Bytes(static_cast<double>(
        meminfo_bytes(read_file(root, path + "/meminfo").value_or(""), "MemTotal").value_or(0)));
    node.cpus = both(read_cpulist(root, path + "/cpulist").value_or(CpuSet()), topology.online);
    const std::string distances = read_file(root, path + "/distance").value_or("");
    for (std::string_view field : split(distances, ' '))
      if (const auto distance = parse_integer(field))
        node.distances.push_back(static_cast<int>(*distance));
    topology.numa.push_back(std::move(node));
  }
  if (topology.numa.empty()) {  // a kernel without NUMA: one node with everything
    const auto total =
        hwloc == nullptr ? std::uint64_t{0} : hwloc_get_root_obj(hwloc)->total_memory;
    topology.numa.push_back({.id = 0,
                             .memory = Bytes(static_cast<double>(total)),
                             .cpus = topology.online,
                             .distances = {10}});
  }
  std::sort(topology.numa.begin(), topology.numa.end(),
            [](const NumaNode& a, const NumaNode& b) { return a.id < b.id; });
  for (Core& core : topology.cores)
    for (const NumaNode& node : topology.numa)
      if (node.cpus.contains(core.cpus.first())) core.numa = node.id;
}

}  // namespace

Topology read_topology(const std::string& root) {
  const Hwloc hwloc = load_hwloc(root);
  Topology topology;
  read_cpu_sets(root, hwloc.get(), topology);
  read_cores(hwloc.get(), topology);
  read_caches(root, topology);
  if (topology.caches.empty() && hwloc != nullptr) read_caches_from_hwloc(hwloc.get(), topology);
  read_numa(root, hwloc.get(), topology);
  return topology;
}

std::optional<Bytes> summed_last_level_cache(const Topology& topology) {
  int last = 0;
  for (const Cache& cache : topology.caches)
    if (cache.type != "instruction" && cache.size) last = std::max(last, cache.level);
  Bytes sum;
  for (const Cache& cache : topology.caches)
    if (cache.level == last && cache.type != "instruction" && cache.size) sum += *cache.size;
  if (last == 0) return std::nullopt;
  return sum;
}

Bytes beyond_cache(const Topology& topology) {
  const Bytes sum = summed_last_level_cache(topology).value_or(Bytes(0));
  return std::max(4.0 * sum, Bytes(64 * kMiB));
}

Bytes system_memory(const Topology& topology) {
  Bytes sum;
  for (const NumaNode& node : topology.numa)
    if (!node.cpus.empty()) sum += node.memory;
  // CPUs on memoryless nodes only: the memory is somewhere, and theirs to use.
  if (sum > Bytes(0)) return sum;
  for (const NumaNode& node : topology.numa) sum += node.memory;
  return sum;
}

std::optional<int> nearest_memory_node(const Topology& topology, int node) {
  const auto from = std::find_if(topology.numa.begin(), topology.numa.end(),
                                 [&](const NumaNode& n) { return n.id == node; });
  std::optional<int> nearest;
  int shortest = 0;
  for (std::size_t i = 0; i < topology.numa.size(); ++i) {
    const NumaNode& to = topology.numa[i];
    if (to.memory <= Bytes(0)) continue;
    if (to.id == node) return node;
    const bool told = from != topology.numa.end() && i < from->distances.size();
    const int distance = told ? from->distances[i] : 255;
    if (!nearest || distance < shortest) {
      nearest = to.id;
      shortest = distance;
    }
  }
  return nearest;
}

std::vector<int> cpus_by_core(const Topology& topology) {
  std::vector<int> order;
  for (std::size_t sibling = 0; order.size() < topology.usable.ids().size(); ++sibling) {
    bool found = false;
    for (const Core& core : topology.cores) {
      const CpuSet usable = both(core.cpus, topology.usable);
      if (sibling >= usable.ids().size()) continue;
      order.push_back(usable.ids()[sibling]);
      found = true;
    }
    if (!found) break;
  }
  for (int cpu : topology.usable)  // CPUs that belong to no known core
    if (std::find(order.begin(), order.end(), cpu) == order.end()) order.push_back(cpu);
  return order;
}

int default_threads(int usable_cpus, const Known<double>& cpu_quota) {
  expects(usable_cpus >= 1, "default_threads: at least one CPU is usable");
  if (!cpu_quota.value) return usable_cpus;
  const double granted = std::min(std::ceil(*cpu_quota.value), static_cast<double>(usable_cpus));
  return std::max(1, static_cast<int>(granted));
}

int default_threads(const std::string& root) {
  return default_threads(read_topology(root).usable.count(), read_cgroup(root).cpu_quota);
}

}  // namespace plimsoll::sys
