// The checks behind the table in doctor.cpp. Each looks at the facts and says what is wrong, with
// severity, message and fix, or nothing.

#pragma once

#include <optional>
#include <string>

#include "core/system/doctor.hpp"

namespace plimsoll::sys {

[[nodiscard]] inline std::optional<Finding> found(Severity severity, std::string message,
                                                  std::string fix) {
  Finding finding;
  finding.severity = severity;
  finding.message = std::move(message);
  finding.fix = std::move(fix);
  return finding;
}

// doctor_cpu.cpp
[[nodiscard]] std::optional<Finding> check_governor(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_frequency(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_boost(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_siblings(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_offline(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_usable(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_quota(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_throttled(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_virtualised(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_steal(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_load(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_clock_source(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_clock_steps(const Facts& facts);

// doctor_memory.cpp
[[nodiscard]] std::optional<Finding> check_numa_balancing(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_numa_nodes(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_huge_pages(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_last_level_cache(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_memory_limit(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_available(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_locked_memory(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_shared_memory(const Facts& facts);

// doctor_devices.cpp
[[nodiscard]] std::optional<Finding> check_direct_io(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_io_uring(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_link_speed(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_mpi_root(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_parts(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_build_type(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_gpu_driver(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_gpu_management(const Facts& facts);
[[nodiscard]] std::optional<Finding> check_gpu_memory(const Facts& facts);

}  // namespace plimsoll::sys
