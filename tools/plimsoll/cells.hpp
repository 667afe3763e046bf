// The configurations of a validation: the suite, their names, and which of them were asked for.

#pragma once

#include <string>
#include <vector>

#include "core/plan.hpp"

namespace plimsoll::tools {

// mlp and lenet x batch {64, 256, 1024} x workers {1, 2}: a worker is one core. Workers beyond the
// usable CPUs are left out.
[[nodiscard]] std::vector<Plan> validation_suite(int usable_cpus);

// "lenet-b256-w2": the file name of a plan's reports.
[[nodiscard]] std::string cell_name(const Plan& plan);

inline constexpr const char* kCellsHelp = "only cells whose name matches, e.g. 'lenet-.*-w2'";

// Those of `plans` whose whole name matches the regular expression; all when it is empty. Error
// (usage, --cells): no regular expression, or it matches none; the names are listed.
[[nodiscard]] std::vector<Plan> chosen_cells(const std::vector<Plan>& plans,
                                             const std::string& pattern);

}  // namespace plimsoll::tools
