// What-if factors by name.
//
//     "memory=x2":  memory_ratio = 2
//
// Source    -
// Assumes   A factor acts on every level, core or message alike.
// Fails     On an unknown input or a factor that is not a positive finite number: usage error.
// Limits    x1 changes nothing.
// Tests     tests/models/step_test.cpp.

#include "models/what_if.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/error.hpp"

namespace plimsoll::models {

void set(WhatIf& what_if, const std::string& assignment) {
  const std::array<std::pair<const char*, double*>, 5> inputs = {{
      {"compute", &what_if.compute_ratio},
      {"memory", &what_if.memory_ratio},
      {"all_reduce", &what_if.all_reduce_ratio},
      {"dispatch", &what_if.dispatch_ratio},
      {"loader", &what_if.loader_ratio},
  }};
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
      factor <= 0) {
    throw usage_error("'" + text + "' is not a positive factor", "--what-if " + assignment, fix);
  }
  for (const auto& [known, ratio] : inputs) {
    if (name != known) continue;
    *ratio = factor;
    return;
  }
  throw usage_error("unknown input '" + name + "'", "--what-if " + assignment, fix);
}

}  // namespace plimsoll::models
