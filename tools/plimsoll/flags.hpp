// Values of flags, checked before anything begins. CLI11 by itself cuts numbers that are too large
// down to what fits, takes NaN for a positive number and an empty text for 0.

#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>

namespace plimsoll::tools {

// A whole number from `least` to `most`.
[[nodiscard]] CLI::Validator whole(std::int64_t least, std::int64_t most);
// Any whole number.
[[nodiscard]] inline CLI::Validator any_whole() {
  return whole(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
}

// Finite, from `least` to `most`.
[[nodiscard]] CLI::Validator number(double least, double most);
// From 0 to below 1.
[[nodiscard]] CLI::Validator below_one();
// Finite and above 0.
[[nodiscard]] CLI::Validator positive();

// For the flags --out and --json of a subcommand: an Error when a file could not be written, or
// when both are stdout. Minutes of measuring must not end in a report that has no place.
void check_outputs(const std::string& out, const std::string& json);

}  // namespace plimsoll::tools
