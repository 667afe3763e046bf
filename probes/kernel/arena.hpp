// Memory that kernels are measured on, shared by all cases that run on the same core.
//
// In a training step everything that an operator reads, except what the operator before it just
// wrote, was last touched most of a step ago: it comes from the shared cache or from memory. So a
// case has several sets of operands, as many as fill kRotation, and goes through them in turn.
// Inputs are never written and outputs never read as inputs: values stay what they were.

#pragma once

#include <cstdint>
#include <string>

#include "core/system/buffer.hpp"
#include "trainer/backend/backend.hpp"

namespace plimsoll::probes {

inline constexpr std::int64_t kRotation = std::int64_t{32} << 20;  // bytes between two uses
inline constexpr std::int64_t kMostSets = 32;

class Arena {
 public:
  // `bytes` for inputs and as many for outputs: no set of operands may need more. First touched,
  // and filled with values in (-1, 1), by the calling thread.
  explicit Arena(std::int64_t bytes);

  [[nodiscard]] std::byte* inputs() const { return inputs_.data(); }
  [[nodiscard]] std::byte* outputs() const { return outputs_.data(); }
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(inputs_.size()); }

 private:
  sys::Buffer inputs_, outputs_;
};

// Hands out places for the operands of one case, set after set, going round in the arena.
class Placement {
 public:
  explicit Placement(const Arena& arena) : arena_(arena) {}

  void next_set();
  // What the operator before just wrote: the same place in every set.
  trainer::View recent(std::int64_t elements, DType dtype = DType::f32);
  trainer::View input(std::int64_t elements, DType dtype = DType::f32);
  trainer::View output(std::int64_t elements, DType dtype = DType::f32);

  // Sets that bring kRotation bytes between two uses of the same one; known after the first set.
  [[nodiscard]] std::int64_t sets() const;

 private:
  trainer::View take(std::byte* base, std::int64_t& used, std::int64_t& next, std::int64_t elements,
                     DType dtype);

  const Arena& arena_;
  std::int64_t recent_bytes_ = 0;  // at the head of the inputs, kept out of the round
  std::int64_t recent_taken_ = 0;  // in this set
  std::int64_t input_next_ = 0, output_next_ = 0;    // where the round is
  std::int64_t inputs_used_ = 0, outputs_used_ = 0;  // by this set
};

}  // namespace plimsoll::probes
