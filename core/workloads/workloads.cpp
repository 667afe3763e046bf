// The table of built-in workloads.

#include "core/workloads/workloads.hpp"

#include "core/error.hpp"

namespace plimsoll {

const std::vector<WorkloadEntry>& workloads() {
  static const std::vector<WorkloadEntry> kTable = {
      {"mlp", [](WorkloadOptions&) { return mlp_workload(); }},
      {"lenet", [](WorkloadOptions&) { return lenet_workload(); }},
      {"resnet18", resnet18_workload},
      {"gpt", gpt_workload},
  };
  return kTable;
}

Workload workload_named(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  std::string known;
  for (const WorkloadEntry& entry : workloads()) {
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
    if (entry.name != name) continue;
    WorkloadOptions options(name, colon == std::string::npos ? "" : text.substr(colon + 1));
    Workload workload = entry.make(options);
    options.finish();
    workload.name = text;
    return workload;
  }
  throw usage_error("unknown workload '" + text + "'", "--workload",
                    "use one of: " + known + "; or a JSON file (plimsoll schema workload)");
}

}  // namespace plimsoll
