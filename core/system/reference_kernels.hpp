// The inner loops behind reference_loops.hpp: fixed work, known answer, chosen by instruction set.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace plimsoll::sys {

// A compute loop: `run(rounds)` does rounds x flop_per_round operations and returns a value that
// must equal `answer(rounds)`; anything else means that the work was not done.
struct ComputeLoop {
  std::string path;  // "avx512f", "avx2 fma", "generic", "avx512_bf16"
  double (*run)(std::int64_t rounds);
  double (*answer)(std::int64_t rounds);
  std::int64_t rounds;  // about 30 to 60 ms of work
  std::int64_t flop_per_round;
  int repeats;  // calls of run(rounds) in a sample: about 30 to 60 ms of work
};

[[nodiscard]] ComputeLoop compute_f32_loop();
[[nodiscard]] std::optional<ComputeLoop> compute_bf16_loop();  // nothing: no such instruction
// The path that every machine has, for tests and for comparison.
[[nodiscard]] ComputeLoop generic_f32_loop();

// Fills so that stream_sum() has a closed form: the numbers 0, 1, 2, ...
void fill_counting(std::span<std::uint64_t> words);
[[nodiscard]] std::uint64_t counting_sum(std::uint64_t count);  // of 0 .. count - 1, modulo 2^64
[[nodiscard]] std::uint64_t stream_sum(std::span<const std::uint64_t> words);

}  // namespace plimsoll::sys
