// The formats that a person reads a report in: one function each, one table of all.
//
// Adding one is a file here, a line in kFormats (format.cpp) and a golden file in tests/golden/.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/record.hpp"

namespace plimsoll::reports {

[[nodiscard]] std::string terminal(const Report& report);
[[nodiscard]] std::string markdown(const Report& report);
[[nodiscard]] std::string csv(const std::vector<Report>& reports);

struct Format {
  std::string_view name, suffix, description;
  std::string (*write)(const std::vector<Report>& reports);
};
[[nodiscard]] const std::vector<Format>& formats();

}  // namespace plimsoll::reports
