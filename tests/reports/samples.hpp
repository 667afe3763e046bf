// One realistic report of each kind with every field set: input of the schema, format and damage
// tests. All numbers, names and times are made up.

#pragma once

#include "core/record.hpp"

namespace plimsoll::reports::testing {

[[nodiscard]] Report machine_sample();
[[nodiscard]] Report prediction_sample();
[[nodiscard]] Report run_sample();
[[nodiscard]] Report validation_sample();
[[nodiscard]] Report comparison_sample();
[[nodiscard]] std::vector<Report> all_samples();

}  // namespace plimsoll::reports::testing
