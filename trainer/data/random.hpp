// Counter-based random numbers: the value at (seed, stream, index) is a hash of the three. There is
// no state, so any rank, thread or order of calls sees the same numbers, and nothing can be lost
// when a run is resumed.

#pragma once

#include <cstdint>

namespace plimsoll::trainer {

// The finaliser of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
// generators", OOPSLA 2014): every input bit changes each output bit with probability one half.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

[[nodiscard]] constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream,
                                                  std::uint64_t index) {
  return mix(mix(mix(seed) ^ stream) ^ index);
}

// Uniform in [0, 1): 53 bits, so the mean of many is exactly centred.
[[nodiscard]] constexpr double random_unit(std::uint64_t seed, std::uint64_t stream,
                                           std::uint64_t index) {
  return static_cast<double>(random_bits(seed, stream, index) >> 11) * 0x1.0p-53;
}

}  // namespace plimsoll::trainer
