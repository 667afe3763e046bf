// Adam and AdamW over flat buffers: four reads and three writes an element.

#include <bit>
#include <cmath>

#include "trainer/backend/backend.hpp"
#include "trainer/backend/cpu/flat.hpp"
#include "trainer/backend/cpu/simd.hpp"

namespace plimsoll::trainer {
namespace {

// True when every new weight and moment is finite; by bits, as in sgd.cpp.
PLIMSOLL_WIDEST bool update(float* __restrict weights, float* __restrict first,
                            float* __restrict second, const float* __restrict gradient,
                            std::int64_t count, AdamStep step) {
  const float beta1 = step.beta1, beta2 = step.beta2, epsilon = step.epsilon;
  const float rest1 = step.rest1, rest2 = step.rest2;
  const float scale = step.gradient_scale, added = step.added_decay;
  const float rate = step.learning_rate / step.correction1, kept = 1.0F - step.shrinking_decay;
  const float root = 1.0F / std::sqrt(step.correction2);
  std::uint32_t largest = 0;
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = scale * gradient[i] + added * weights[i];
    const float m = beta1 * first[i] + rest1 * g;
    const float v = beta2 * second[i] + rest2 * (g * g);
    const float w = weights[i] * kept - rate * (m / (std::sqrt(v) * root + epsilon));
    first[i] = m;
    second[i] = v;
    weights[i] = w;
    const std::uint32_t of_weight = std::bit_cast<std::uint32_t>(w) & 0x7FFFFFFFU;
    const std::uint32_t of_moment = std::bit_cast<std::uint32_t>(v) & 0x7FFFFFFFU;
    const std::uint32_t magnitude = of_weight > of_moment ? of_weight : of_moment;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest < 0x7F800000U;
}

}  // namespace

bool adamw(float* weights, float* first_moment, float* second_moment, const float* gradient,
           std::int64_t elements, AdamStep step, int threads) {
  return on_lines(elements, threads, [&](std::int64_t first, std::int64_t last) {
    return update(weights + first, first_moment + first, second_moment + first, gradient + first,
                  last - first, step);
  });
}

}  // namespace plimsoll::trainer
