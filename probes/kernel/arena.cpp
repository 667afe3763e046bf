// Fills an arena and deals its places out.

#include "probes/kernel/arena.hpp"

#include <algorithm>
#include <bit>
#include <random>

#include "core/error.hpp"

namespace plimsoll::probes {
namespace {

constexpr std::int64_t kAlignment = 128;

// Every 16 bits are a bf16 value in (-1, 1), and every 32 bits an f32 value in (-1, 1) whose
// leading half is one of them: the same memory serves both types.
void fill(std::span<std::uint16_t> halves) {
  std::mt19937 random(1);
  for (std::uint16_t& half : halves) {
    const auto bits = static_cast<std::uint32_t>(random());
    const float unit = static_cast<float>(bits >> 8) * 0x1p-24F;  // [0, 1)
    const float value = (bits & 1U) != 0 ? unit * -0.99F : unit * 0.99F;
    half = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  }
}

}  // namespace

Arena::Arena(std::int64_t bytes)
    : inputs_(Bytes(static_cast<double>(bytes)), "operands of a kernel probe", sys::Page::huge,
              sys::Touch::later),
      outputs_(Bytes(static_cast<double>(bytes)), "results of a kernel probe", sys::Page::huge,
               sys::Touch::now) {
  fill(inputs_.as<std::uint16_t>());
  std::ranges::fill(outputs_.as<float>(), 0.5F);
}

void Placement::next_set() { recent_taken_ = inputs_used_ = outputs_used_ = 0; }

trainer::View Placement::take(std::byte* base, std::int64_t& used, std::int64_t& next,
                              std::int64_t elements, DType dtype) {
  const std::int64_t bytes = (elements * size_of(dtype) + kAlignment - 1) / kAlignment * kAlignment;
  used += bytes;
  const std::int64_t first = base == arena_.inputs() ? recent_bytes_ : 0;
  expects(first + used <= arena_.bytes(), "one set of operands fits the arena");
  if (next < first || next + bytes > arena_.bytes()) next = first;
  std::byte* const place = base + next;
  next += bytes;
  return {.data = place, .elements = elements, .dtype = dtype};
}

trainer::View Placement::recent(std::int64_t elements, DType dtype) {
  const std::int64_t at = recent_taken_;
  recent_taken_ += (elements * size_of(dtype) + kAlignment - 1) / kAlignment * kAlignment;
  recent_bytes_ = std::max(recent_bytes_, recent_taken_);
  expects(recent_bytes_ <= arena_.bytes(), "one set of operands fits the arena");
  return {.data = arena_.inputs() + at, .elements = elements, .dtype = dtype};
}

trainer::View Placement::input(std::int64_t elements, DType dtype) {
  return take(arena_.inputs(), inputs_used_, input_next_, elements, dtype);
}

trainer::View Placement::output(std::int64_t elements, DType dtype) {
  return take(arena_.outputs(), outputs_used_, output_next_, elements, dtype);
}

std::int64_t Placement::sets() const {
  const std::int64_t bytes = std::max<std::int64_t>(1, inputs_used_ + outputs_used_);
  return std::clamp<std::int64_t>((kRotation + bytes - 1) / bytes, 2, kMostSets);
}

}  // namespace plimsoll::probes
