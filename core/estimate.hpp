// A number that knows how sure it is and where it came from.

#pragma once

#include <string>

namespace plimsoll {

enum class Kind { datasheet, measured, fitted, assumed, imported };

// A quantity with its interval (low <= value <= high) and its source: a metric's name, a data
// sheet, or the reason of an assumption. Q is a Quantity or double.
template <class Q>
struct Estimate {
  Q value{};
  Q low{};
  Q high{};
  Kind kind = Kind::measured;
  std::string source;
};

template <class Q>
Estimate<Q> exactly(Q value, Kind kind, std::string source) {
  return {.value = value, .low = value, .high = value, .kind = kind, .source = std::move(source)};
}

}  // namespace plimsoll
