// Stochastic gradient descent with momentum over flat buffers: three reads and two writes an
// element, so memory bounds it, and looking at what was written costs nothing.

#include <bit>

#include "trainer/backend/backend.hpp"
#include "trainer/backend/cpu/flat.hpp"
#include "trainer/backend/cpu/simd.hpp"

namespace plimsoll::trainer {
namespace {

// True when every new weight is finite; by bits, so that -ffast-math cannot take it away.
PLIMSOLL_WIDEST bool update(float* __restrict weights, float* __restrict velocity,
                            const float* __restrict gradient, std::int64_t count, SgdStep step) {
  const float momentum = step.momentum, scale = step.gradient_scale, rate = step.learning_rate;
  std::uint32_t largest = 0;
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = momentum * velocity[i] + scale * gradient[i];
    const float w = weights[i] - rate * v;
    velocity[i] = v;
    weights[i] = w;
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(w) & 0x7FFFFFFFU;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest < 0x7F800000U;
}

PLIMSOLL_WIDEST bool decaying_update(float* __restrict weights, float* __restrict velocity,
                                     const float* __restrict gradient, std::int64_t count,
                                     SgdStep step) {
  const float momentum = step.momentum, scale = step.gradient_scale, rate = step.learning_rate;
  const float decay = step.weight_decay;
  std::uint32_t largest = 0;
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = momentum * velocity[i] + (scale * gradient[i] + decay * weights[i]);
    const float w = weights[i] - rate * v;
    velocity[i] = v;
    weights[i] = w;
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(w) & 0x7FFFFFFFU;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest < 0x7F800000U;
}

}  // namespace

bool sgd_momentum(float* weights, float* velocity, const float* gradient, std::int64_t elements,
                  SgdStep step, int threads) {
  const auto loop = step.weight_decay == 0.0F ? update : decaying_update;
  return on_lines(elements, threads, [&](std::int64_t first, std::int64_t last) {
    return loop(weights + first, velocity + first, gradient + first, last - first, step);
  });
}

}  // namespace plimsoll::trainer
