// Checks of memory: nodes, pages, limits.

#include <sys/statvfs.h>

#include "core/system/buffer.hpp"
#include "core/system/doctor_checks.hpp"

namespace plimsoll::sys {
namespace {

constexpr Bytes kGiB = Bytes(1024.0 * 1024 * 1024);
// The default of common container engines is exactly 64 MiB: too little for shared buffers.
constexpr Bytes kSmallShared = Bytes(64.0 * 1024 * 1024);
constexpr Bytes kSmallLocked = Bytes(64.0 * 1024 * 1024);

}  // namespace

std::optional<Finding> check_numa_balancing(const Facts& facts) {
  if (facts.topology.numa.size() < 2) return std::nullopt;
  if (read_integer(facts.root, "/proc/sys/kernel/numa_balancing").value_or(0) == 0)
    return std::nullopt;
  return found(Severity::warning, "automatic NUMA balancing is on",
               "sysctl kernel.numa_balancing=0");
}

std::optional<Finding> check_numa_nodes(const Facts& facts) {
  std::string text;
  for (const NumaNode& node : facts.topology.numa) {
    if (node.memory <= Bytes(0) && !node.cpus.empty()) {
      text += (text.empty() ? "" : "; ") + ("node " + std::to_string(node.id)) +
              " has CPUs and no memory";
      if (const auto nearest = nearest_memory_node(facts.topology, node.id))
        text += " (nearest with memory: node " + std::to_string(*nearest) + ")";
    }
    if (node.cpus.empty())
      text += (text.empty() ? "" : "; ") + ("node " + std::to_string(node.id)) + " has " +
              format_bytes(node.memory) + " and no CPUs: not counted as system memory";
  }
  if (text.empty()) return std::nullopt;
  return found(Severity::info, text, "none needed; firmware decides what is a node");
}

std::optional<Finding> check_huge_pages(const Facts& facts) {
  const std::string& pages = facts.environment.transparent_huge_pages;
  if (pages == "always" || pages == "madvise") return std::nullopt;
  if (pages == "unknown")
    return found(Severity::info, "this kernel does not tell about transparent huge pages",
                 "none needed; buffers report what they obtained");
  return found(Severity::warning, "transparent huge pages: " + pages,
               "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
}

std::optional<Finding> check_last_level_cache(const Facts& facts) {
  if (summed_last_level_cache(facts.topology)) return std::nullopt;
  return found(Severity::warning, "no cache size is known",
               "none needed: working sets of at least 64 MiB are used for memory");
}

std::optional<Finding> check_memory_limit(const Facts& facts) {
  const auto& limit = facts.cgroup.memory_limit;
  if (!limit.value) return std::nullopt;
  const bool small = *limit.value < 2.0 * kGiB;
  return found(small ? Severity::warning : Severity::info,
               "memory is limited to " + format_bytes(*limit.value) + " (" + limit.reason + ")",
               "raise the container's memory limit, or accept smaller working sets");
}

std::optional<Finding> check_available(const Facts& facts) {
  const MemoryRoom room = memory_room(facts.root);
  if (room.available >= kGiB) return std::nullopt;
  return found(Severity::warning,
               "only " + format_bytes(room.available) + " can be allocated (" + room.bound_by + ")",
               "free memory or raise the limit: 1 GiB serves every default");
}

std::optional<Finding> check_locked_memory(const Facts& facts) {
  const auto& limit = facts.environment.memlock_bytes;
  if (!limit.value || Bytes(static_cast<double>(*limit.value)) >= kSmallLocked) return std::nullopt;
  const bool gpu = facts.cuda.state == CudaState::ready;
  return found(
      gpu ? Severity::warning : Severity::info,
      "locked memory is limited to " + format_bytes(Bytes(static_cast<double>(*limit.value))),
      "ulimit -l unlimited (containers: --ulimit memlock=-1)");
}

std::optional<Finding> check_shared_memory(const Facts& facts) {
  struct statvfs shared {};
  if (statvfs((facts.root + "/dev/shm").c_str(), &shared) != 0)
    return found(Severity::warning, "/dev/shm is missing", "mount a tmpfs there");
  const Bytes size(static_cast<double>(shared.f_blocks) * static_cast<double>(shared.f_frsize));
  if (size > kSmallShared) return std::nullopt;
  return found(Severity::warning, "/dev/shm holds only " + format_bytes(size),
               "containers: --shm-size=1g");
}

}  // namespace plimsoll::sys
