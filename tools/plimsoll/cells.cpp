// Names cells and chooses among them.

#include "tools/plimsoll/cells.hpp"

#include <cstdint>
#include <regex>

#include "core/error.hpp"

namespace plimsoll::tools {
namespace {

std::string names_of(const std::vector<Plan>& plans) {
  std::string names;
  for (const Plan& plan : plans) names += " " + cell_name(plan);
  return names;
}

}  // namespace

std::vector<Plan> validation_suite(int usable_cpus) {
  std::vector<Plan> plans;
  for (const char* workload : {"mlp", "lenet"}) {
    for (const std::int64_t batch : {64, 256, 1024}) {
      for (const int workers : {1, 2}) {
        if (workers > usable_cpus) continue;
        Plan plan;
        plan.workload = workload;
        plan.batch = batch;
        plan.workers = workers;
        plans.push_back(plan);
      }
    }
  }
  return plans;
}

std::string cell_name(const Plan& plan) {
  return plan.workload + "-b" + std::to_string(plan.batch) + "-w" + std::to_string(plan.workers);
}

std::vector<Plan> chosen_cells(const std::vector<Plan>& plans, const std::string& pattern) {
  if (pattern.empty()) return plans;
  std::vector<Plan> chosen;
  try {
    const std::regex wanted(pattern);
    for (const Plan& plan : plans) {
      if (std::regex_match(cell_name(plan), wanted)) chosen.push_back(plan);
    }
  } catch (const std::regex_error& error) {
    throw usage_error("'" + pattern + "' is no regular expression: " + error.what(), "--cells",
                      "use a regular expression over:" + names_of(plans));
  }
  if (chosen.empty()) {
    throw usage_error("no cell matches '" + pattern + "'", "--cells",
                      "use a regular expression over:" + names_of(plans));
  }
  return chosen;
}

}  // namespace plimsoll::tools
