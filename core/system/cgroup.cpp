// Control group limits, versions 1 and 2.

#include "core/system/cgroup.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/system/files.hpp"

namespace plimsoll::sys {
namespace {

// Version 1 says "no limit" with a number near 2^63; nothing real is larger than this.
constexpr std::int64_t kUnlimitedBytes = std::int64_t{1} << 60;

// One hierarchy: where it is mounted, and the directories from the process's group up to the mount.
struct Hierarchy {
  bool unified = false;
  std::vector<std::string> groups;  // paths below the root, innermost first
};

// The process's group as seen through the mount: /proc/self/cgroup holds the path from the
// hierarchy's root, the mount may show only a part of it (containers).
std::vector<std::string> groups_of(std::string path, const std::string& mount_root,
                                   const std::string& mount_point) {
  if (mount_root != "/") path = path.starts_with(mount_root) ? path.substr(mount_root.size()) : "";
  while (!path.empty() && path.back() == '/') path.pop_back();
  if (path.starts_with("/..")) path.clear();  // outside of our namespace
  std::vector<std::string> groups;
  while (!path.empty()) {
    groups.push_back(mount_point + path);
    path.resize(path.rfind('/'));
  }
  groups.push_back(mount_point);
  return groups;
}

std::string path_of(const std::string& root, std::string_view controller, bool unified) {
  const std::string text = read_file(root, "/proc/self/cgroup").value_or("");
  for (std::string_view line : split(text, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() < 3) continue;
    const auto names = split(fields[1], ',');
    const bool match = unified ? fields[0] == "0" && fields[1].empty()
                               : std::find(names.begin(), names.end(), controller) != names.end();
    if (match) return std::string(line.substr(fields[0].size() + fields[1].size() + 2));
  }
  return "/";
}

// Finds the hierarchy that `controller` lives in: version 1 where it is mounted so, else version 2.
Hierarchy find_hierarchy(const std::string& root, std::string_view controller) {
  const std::string mounts = read_file(root, "/proc/self/mountinfo").value_or("");
  std::optional<Hierarchy> unified;
  for (std::string_view line : split(mounts, '\n')) {
    const auto dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto left = split(line.substr(0, dash), ' ');
    const auto right = split(line.substr(dash + 3), ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    const std::string mount_root(left[3]), mount_point(left[4]);
    if (right[0] == "cgroup") {
      const auto options = split(right[2], ',');
      if (std::find(options.begin(), options.end(), controller) == options.end()) continue;
      return {false, groups_of(path_of(root, controller, false), mount_root, mount_point)};
    }
    if (right[0] == "cgroup2")
      unified = {true, groups_of(path_of(root, controller, true), mount_root, mount_point)};
  }
  if (unified) return *unified;
  // A root without a mount table (a made-up one): the usual place.
  if (mounts.empty())
    return {true, groups_of(path_of(root, controller, true), "/", "/sys/fs/cgroup")};
  return {};
}

void read_quota(const std::string& root, Cgroup& result) {
  const Hierarchy hierarchy = find_hierarchy(root, "cpu");
  result.cpu_quota.reason = hierarchy.groups.empty() ? "no cpu control group" : "no limit";
  for (const std::string& group : hierarchy.groups) {
    QuotaText quota;
    std::string path = group + (hierarchy.unified ? "/cpu.max" : "/cpu.cfs_quota_us");
    const auto text = read_file(root, path);
    if (!text) continue;
    quota =
        hierarchy.unified
            ? parse_cpu_max(*text)
            : parse_cfs_quota(*text, read_file(root, group + "/cpu.cfs_period_us").value_or(""));
    if (quota.malformed) {
      result.findings.push_back({"cgroup.unreadable", Severity::warning,
                                 path + " holds \"" + *text + "\": " + quota.reason,
                                 "the CPU-time limit is taken as none", "look at the file"});
    }
    if (quota.cpus && (!result.cpu_quota.value || *quota.cpus < *result.cpu_quota.value))
      result.cpu_quota = {quota.cpus, path};
  }
}

void read_throttling(const std::string& root, Cgroup& result) {
  const Hierarchy hierarchy = find_hierarchy(root, "cpu");
  if (hierarchy.groups.empty()) return;
  const auto text = read_file(root, hierarchy.groups.front() + "/cpu.stat");
  if (!text) return;
  Throttling throttling;
  bool found = false;
  for (std::string_view line : split(*text, '\n')) {
    const auto fields = split(line, ' ');
    if (fields.size() != 2) continue;
    const auto value = parse_integer(fields[1]);
    if (!value) continue;
    if (fields[0] == "nr_periods") throttling.periods = *value;
    if (fields[0] == "nr_throttled") throttling.throttled_periods = *value, found = true;
    if (fields[0] == "throttled_usec") throttling.throttled = Seconds(double(*value) * 1e-6);
    if (fields[0] == "throttled_time") throttling.throttled = Seconds(double(*value) * 1e-9);
  }
  if (found) result.throttling = throttling;
}

void read_memory(const std::string& root, Cgroup& result) {
  const Hierarchy hierarchy = find_hierarchy(root, "memory");
  result.memory_limit.reason = hierarchy.groups.empty() ? "no memory control group" : "no limit";
  const char* limit_name = hierarchy.unified ? "/memory.max" : "/memory.limit_in_bytes";
  const char* usage_name = hierarchy.unified ? "/memory.current" : "/memory.usage_in_bytes";
  for (const std::string& group : hierarchy.groups) {
    const auto text = read_file(root, group + limit_name);
    if (!text || *text == "max") continue;
    const auto limit = parse_integer(*text);
    if (!limit || *limit < 0) {
      result.findings.push_back({"cgroup.unreadable", Severity::warning,
                                 group + limit_name + " holds \"" + *text + "\"",
                                 "the memory limit is taken as none", "look at the file"});
      continue;
    }
    if (*limit >= kUnlimitedBytes) continue;
    const Bytes bytes(static_cast<double>(*limit));
    if (result.memory_limit.value && *result.memory_limit.value <= bytes) continue;
    result.memory_limit = {bytes, group + limit_name};
    const auto used = read_integer(root, group + usage_name);
    // Page cache that can be dropped at once is not in the way of a new buffer.
    std::int64_t cache = 0;
    const auto stat = read_file(root, group + "/memory.stat").value_or("");
    for (std::string_view line : split(stat, '\n')) {
      const std::string_view name = hierarchy.unified ? "inactive_file " : "total_inactive_file ";
      if (line.starts_with(name)) cache = parse_integer(line.substr(name.size())).value_or(0);
    }
    result.memory_used.reset();
    if (used)
      result.memory_used = Bytes(static_cast<double>(std::max<std::int64_t>(*used - cache, 0)));
  }
}

void read_cpuset(const std::string& root, Cgroup& result) {
  const Hierarchy hierarchy = find_hierarchy(root, "cpuset");
  for (const std::string& group : hierarchy.groups) {
    for (const char* name : {"/cpuset.cpus.effective", "/cpuset.effective_cpus", "/cpuset.cpus"}) {
      const auto text = read_file(root, group + name);
      if (!text || text->empty()) continue;
      try {
        result.cpuset = parse_cpulist(*text, group + name);
      } catch (const Error& error) {
        result.findings.push_back({"cgroup.unreadable", Severity::warning, error.problem(),
                                   "the CPU set of the group is not taken into account",
                                   "look at " + error.where()});
      }
      return;
    }
  }
}

}  // namespace

QuotaText parse_cpu_max(std::string_view text) {
  const std::string_view trimmed = trim(text);
  if (trimmed.empty()) return {{}, true, "the file is empty"};
  const auto fields = split(trimmed, ' ');
  if (fields[0] == "max") return {{}, false, "no limit"};
  if (fields[0] == "-1") return {{}, true, "the quota is not a positive number"};
  return parse_cfs_quota(fields[0], fields.size() > 1 ? fields[1] : "100000");
}

QuotaText parse_cfs_quota(std::string_view quota_text, std::string_view period_text) {
  if (quota_text == "-1") return {{}, false, "no limit"};
  const auto quota = parse_integer(quota_text), period = parse_integer(period_text);
  if (!quota || *quota <= 0) return {{}, true, "the quota is not a positive number"};
  if (!period || *period <= 0) return {{}, true, "the period is not a positive number"};
  return {static_cast<double>(*quota) / static_cast<double>(*period), false, ""};
}

Cgroup read_cgroup(const std::string& root) {
  Cgroup result;
  read_quota(root, result);
  read_throttling(root, result);
  read_memory(root, result);
  read_cpuset(root, result);
  return result;
}

}  // namespace plimsoll::sys
