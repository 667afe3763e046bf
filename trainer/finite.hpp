// Whether a number is finite, told by its bits: under -ffast-math a compiler may take std::isfinite
// for true, for it was promised that nothing else occurs.

#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace plimsoll::trainer {

[[nodiscard]] constexpr bool is_finite(float value) {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  return (std::bit_cast<std::uint32_t>(value) & kExponent) != kExponent;
}

[[nodiscard]] constexpr bool is_finite(double value) {
  constexpr std::uint64_t kExponent = 0x7FF0000000000000ULL;
  return (std::bit_cast<std::uint64_t>(value) & kExponent) != kExponent;
}

[[nodiscard]] inline bool all_finite(std::span<const float> values) {
  bool finite = true;
  for (const float value : values) finite = finite && is_finite(value);
  return finite;
}

// "inf", "-inf" or "nan"; printf is not asked, for the same reason.
[[nodiscard]] inline const char* word_for(float not_finite) {
  const auto bits = std::bit_cast<std::uint32_t>(not_finite);
  if ((bits & 0x007FFFFFU) != 0) return "nan";
  return (bits & 0x80000000U) != 0 ? "-inf" : "inf";
}

}  // namespace plimsoll::trainer
