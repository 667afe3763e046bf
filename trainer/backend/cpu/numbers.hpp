// Numbers of both data types in loops of our own: read as float, computed in float, written back
// rounded to nearest even. Plain integer code, which every compiler turns into vector instructions.

#pragma once

#include <bit>
#include <cstdint>

#include "core/workload.hpp"

namespace plimsoll::trainer::cpu {

struct Bf16 {
  std::uint16_t bits;  // the upper half of a float
};

[[gnu::always_inline]] inline float wide(float value) { return value; }
[[gnu::always_inline]] inline float wide(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

[[gnu::always_inline]] inline void put(float& to, float value) { to = value; }
[[gnu::always_inline]] inline void put(Bf16& to, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  // What is no number stays none, whatever its payload; masks, so that all lanes stay 32 bits wide.
  const bool is_nan = static_cast<std::int32_t>(bits & 0x7FFFFFFFU) > 0x7F800000;
  const std::uint32_t nan = is_nan ? ~0U : 0U;
  const std::uint32_t up = (0x7FFFU + ((bits >> 16) & 1U)) & ~nan;
  to.bits = static_cast<std::uint16_t>(((bits + up) | (nan & 0x400000U)) >> 16);
}

// e^x for x <= 0 by powers of two and a polynomial, to a few units in the last place; about 1e-38
// below -87. One select and no branch: it vectorises, as the library's does not.
[[gnu::always_inline]] inline float exponential(float x) {
  x = x < -87.0F ? -87.0F : x;
  const auto whole = static_cast<std::int32_t>(x * 1.44269504F - 0.5F);  // towards zero: nearest
  const auto n = static_cast<float>(whole);
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;  // x - n ln 2, ln 2 in two parts
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  return p * std::bit_cast<float>((whole + 127) << 23);
}

// Calls body with a null pointer of the type of the elements: `T` of a generic lambda.
template <class Body>
auto with_type(DType dtype, const Body& body) {
  return dtype == DType::bf16 ? body(static_cast<Bf16*>(nullptr))
                              : body(static_cast<float*>(nullptr));
}

}  // namespace plimsoll::trainer::cpu
