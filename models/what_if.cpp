// What-if factors by name.
//
//     "memory=x2":  memory_ratio = 2
//
// Source    -
// Assumes   A factor acts on every level, core or message alike.
// Fails     On an unknown input or a factor that is not a number from 1e-6 to 1e6: usage error.
// Limits    x1 changes nothing.
// Tests     tests/models/step_test.cpp.

#include "models/what_if.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/error.hpp"

namespace plimsoll::models {
namespace {

constexpr std::array<std::pair<const char*, double WhatIf::*>, 5> kInputs = {{
    {"compute", &WhatIf::compute_ratio},
    {"memory", &WhatIf::memory_ratio},
    {"all_reduce", &WhatIf::all_reduce_ratio},
    {"dispatch", &WhatIf::dispatch_ratio},
    {"loader", &WhatIf::loader_ratio},
}};

constexpr double kLargest = 1e6;  // beyond, times and rates leave the range of a double

}  // namespace

void set(WhatIf& what_if, const std::string& assignment) {
  const std::string fix =
      "use compute, memory, all_reduce, dispatch or loader, then =x and a factor: memory=x2";
  const std::size_t equals = assignment.find("=x");
  if (equals == std::string::npos) {
    throw usage_error("'" + assignment + "' is not NAME=xFACTOR", "--what-if", fix);
  }
  const std::string name = assignment.substr(0, equals);
  const std::string text = assignment.substr(equals + 2);
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(factor) ||
      factor < 1 / kLargest || factor > kLargest) {
    throw usage_error("'" + text + "' is not a factor from 1e-6 to 1e6", "--what-if " + assignment,
                      fix);
  }
  for (const auto& [known, ratio] : kInputs) {
    if (name != known) continue;
    what_if.*ratio = factor;
    return;
  }
  throw usage_error("unknown input '" + name + "'", "--what-if " + assignment, fix);
}

std::string text_of(const WhatIf& what_if) {
  std::string text;
  for (const auto& [name, ratio] : kInputs) {
    if (what_if.*ratio == 1.0) continue;
    std::array<char, 32> digits{};
    const auto [end, error] = std::to_chars(digits.begin(), digits.end(), what_if.*ratio);
    expects(error == std::errc(), "a double fits 32 characters");
    text +=
        (text.empty() ? "" : ", ") + std::string(name) + " x" + std::string(digits.begin(), end);
  }
  return text;
}

}  // namespace plimsoll::models
