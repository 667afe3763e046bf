// The inner loops of cpu.flops: chains of multiply-add that the compiler can neither remove nor
// merge, one kernel for each data type and instruction set.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace plimsoll::probes {

// One block: every lane of every accumulator starts at zero and becomes acc = acc * 1 + step, that
// many times over; where one, and the steps, come from is hidden from the compiler. All
// intermediate values are small integers, exact in any of the types, so the sum over all lanes is
// known: kBlockIterations * step_sum.
inline constexpr std::int64_t kBlockIterations = 1 << 14;

struct FlopsKernel {
  std::string_view dtype;            // f32 | f64 | bf16
  std::string_view instruction_set;  // scalar | avx2 | avx512 | avx512_bf16 | amx | neon
  std::string_view requires_isa;     // name that sys::has_instruction_set() knows; "" needs none
  double flop_per_iteration;         // all accumulators together
  double flop_per_cycle;             // more than any known core does: bounds what is plausible
  double step_sum;                   // sum over all lanes of one iteration's steps
  double (*block)();                 // runs one block, returns the sum over all lanes
  // Asks the kernel for what the instruction set needs, or says why not ("" is fine).
  std::string_view (*prepare)();
};

// Of the architecture this was built for; the source file that CMake chose defines it.
[[nodiscard]] std::span<const FlopsKernel> flops_kernels();

}  // namespace plimsoll::probes
