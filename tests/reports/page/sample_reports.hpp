// Made-up reports of a whole `plimsoll run`: a machine, twelve predictions, twelve runs and their
// validation. The numbers are invented but shaped like those of a small two-core machine.

#pragma once

#include <vector>

#include "core/record.hpp"

namespace plimsoll::reports::testing {

[[nodiscard]] Report sample_machine();
[[nodiscard]] std::vector<Report> sample_reports();

}  // namespace plimsoll::reports::testing
