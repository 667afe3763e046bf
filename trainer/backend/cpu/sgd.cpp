// Stochastic gradient descent with momentum over flat buffers: three reads and two writes an
// element, so memory bounds it.

#include <omp.h>

#include <algorithm>

#include "trainer/backend/backend.hpp"
#include "trainer/backend/cpu/simd.hpp"

namespace plimsoll::trainer {
namespace {

constexpr std::int64_t kLine = 16;             // floats in a cache line
constexpr std::int64_t kWorthATeam = 1 << 14;  // below, waking the team costs more than it saves

PLIMSOLL_WIDEST void update(float* __restrict weights, float* __restrict velocity,
                            const float* __restrict gradient, std::int64_t count, SgdStep step) {
  const float momentum = step.momentum, scale = step.gradient_scale, rate = step.learning_rate;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = momentum * velocity[i] + scale * gradient[i];
    velocity[i] = v;
    weights[i] -= rate * v;
  }
}

}  // namespace

void sgd_momentum(float* weights, float* velocity, const float* gradient, std::int64_t elements,
                  SgdStep step, int threads) {
  if (threads <= 1 || elements < kWorthATeam) {
    update(weights, velocity, gradient, elements, step);
    return;
  }
  const std::int64_t lines = (elements + kLine - 1) / kLine;
#pragma omp parallel num_threads(threads)
  {
    const std::int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    const std::int64_t first = std::min(elements, lines * me / team * kLine);
    const std::int64_t last = std::min(elements, lines * (me + 1) / team * kLine);
    update(weights + first, velocity + first, gradient + first, last - first, step);
  }
}

}  // namespace plimsoll::trainer
