// The square of a gradient's norm. Blocks of one size are summed by themselves and then in their
// order, so the bits depend on no number of threads.

#include <vector>

#include "trainer/backend/backend.hpp"
#include "trainer/backend/cpu/simd.hpp"

namespace plimsoll::trainer {
namespace {

constexpr std::int64_t kBlock = 1 << 13;

PLIMSOLL_WIDEST double of_block(const float* values, std::int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = values[i];
    sum += value * value;
  }
  return sum;
}

}  // namespace

double sum_of_squares(const float* values, std::int64_t elements, int threads) {
  const std::int64_t blocks = (elements + kBlock - 1) / kBlock;
  std::vector<double> sums(static_cast<std::size_t>(blocks));
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && blocks > 2)
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t first = b * kBlock;
    const std::int64_t count = elements - first < kBlock ? elements - first : kBlock;
    sums[static_cast<std::size_t>(b)] = of_block(values + first, count);
  }
  double sum = 0;
  for (const double block : sums) sum += block;
  return sum;
}

}  // namespace plimsoll::trainer
