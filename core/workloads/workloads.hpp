// The list of built-in workloads: adding one is a file here, a line in the table, a test.

#pragma once

#include <string>
#include <vector>

#include "core/workload.hpp"
#include "core/workloads/options.hpp"

namespace plimsoll {

[[nodiscard]] Workload mlp_workload();
[[nodiscard]] Workload lenet_workload();
[[nodiscard]] Workload resnet18_workload(WorkloadOptions& options);
[[nodiscard]] Workload gpt_workload(WorkloadOptions& options);

struct WorkloadEntry {
  const char* name;
  Workload (*make)(WorkloadOptions&);
};
[[nodiscard]] const std::vector<WorkloadEntry>& workloads();

// "mlp", or a name with options behind a colon: "gpt:layers=4,width=256", "gpt:gpt2-124m". The
// workload's name is the text as it was given. Error (usage) that lists what is possible when the
// name or an option is unknown. Files: reports/workload_file.hpp.
[[nodiscard]] Workload workload_named(const std::string& text);

}  // namespace plimsoll
