// The list of built-in workloads: adding one is a file here, a line in the table, a test.

#pragma once

#include <string>
#include <vector>

#include "core/workload.hpp"

namespace plimsoll {

[[nodiscard]] Workload mlp_workload();
[[nodiscard]] Workload lenet_workload();

struct WorkloadEntry {
  const char* name;
  Workload (*make)();
};
[[nodiscard]] const std::vector<WorkloadEntry>& workloads();

// Error (usage) that lists the known names when `name` is unknown.
[[nodiscard]] Workload workload_named(const std::string& name);

}  // namespace plimsoll
