// What the control groups of this process grant: CPU time, CPUs, memory. Version 1 and 2, nested
// groups (the smallest limit from the process's group up to the root counts), private mounts.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record.hpp"
#include "core/system/cpulist.hpp"
#include "core/units.hpp"

namespace plimsoll::sys {

struct Throttling {
  std::int64_t periods = 0, throttled_periods = 0;
  Seconds throttled;
};

struct Cgroup {
  Known<double> cpu_quota;           // CPUs' worth of time; no value: no limit, and why
  Known<Bytes> memory_limit;         // smallest limit on the way to the root
  std::optional<Bytes> memory_used;  // of the group with that limit, without reclaimable page cache
  std::optional<CpuSet> cpuset;      // allowed CPUs
  std::optional<Throttling> throttling;
  std::vector<Finding> findings;  // limits that could not be understood
};

[[nodiscard]] Cgroup read_cgroup(const std::string& root);

// The text of cpu.max ("150000 100000", "max 100000") as CPUs; no value with the reason "no limit"
// or what is wrong with the text. Never divides by zero.
struct QuotaText {
  std::optional<double> cpus;
  bool malformed = false;
  std::string reason;
};
[[nodiscard]] QuotaText parse_cpu_max(std::string_view text);
[[nodiscard]] QuotaText parse_cfs_quota(std::string_view quota, std::string_view period);  // v1

}  // namespace plimsoll::sys
