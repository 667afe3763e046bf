// The table of built-in workloads.

#include "core/workloads/workloads.hpp"

#include "core/error.hpp"

namespace plimsoll {

const std::vector<WorkloadEntry>& workloads() {
  static const std::vector<WorkloadEntry> kTable = {
      {"mlp", mlp_workload},
      {"lenet", lenet_workload},
  };
  return kTable;
}

Workload workload_named(const std::string& name) {
  std::string known;
  for (const WorkloadEntry& entry : workloads()) {
    if (entry.name == name) return entry.make();
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw usage_error("unknown workload '" + name + "'", "--workload", "use one of: " + known);
}

}  // namespace plimsoll
