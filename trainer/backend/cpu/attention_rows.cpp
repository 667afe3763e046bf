// Softmax over rows of scores, forward and backward.

#include "trainer/backend/cpu/attention_rows.hpp"

#include <algorithm>

#include "trainer/backend/cpu/numbers.hpp"
#include "trainer/backend/cpu/simd.hpp"

namespace plimsoll::trainer::cpu {
namespace {

template <class T>
[[gnu::always_inline]] inline void softmax(const ScoreRows& rows, T* to, float* scores) {
  for (std::int64_t row = 0; row < rows.count; ++row) {
    float* const s = scores + row * rows.stride;
    T* const p = to + row * rows.stride;
    const std::int64_t count = rows.causal ? rows.first + row + 1 : rows.keys;
    float largest = s[0], sum = 0;
#pragma omp simd reduction(max : largest)
    for (std::int64_t i = 0; i < count; ++i) largest = s[i] > largest ? s[i] : largest;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < count; ++i) {
      s[i] = exponential((s[i] - largest) * rows.scale);
      sum += s[i];
    }
    const float factor = 1.0F / sum;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) put(p[i], s[i] * factor);
    std::fill(p + count, p + rows.keys, T{});
  }
}

template <class T>
[[gnu::always_inline]] inline void gradient_of(const ScoreRows& rows, T* to, const T* probabilities,
                                               const float* gradient) {
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const float* const dp = gradient + row * rows.stride;
    const T* const p = probabilities + row * rows.stride;
    T* const ds = to + row * rows.stride;
    const std::int64_t count = rows.causal ? rows.first + row + 1 : rows.keys;
    float along = 0;
#pragma omp simd reduction(+ : along)
    for (std::int64_t i = 0; i < count; ++i) along += dp[i] * wide(p[i]);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) put(ds[i], wide(p[i]) * (dp[i] - along) * rows.scale);
    std::fill(ds + count, ds + rows.keys, T{});
  }
}

PLIMSOLL_WIDEST void forward(const ScoreRows& rows, float* to, float* scores) {
  softmax(rows, to, scores);
}
PLIMSOLL_WIDEST void forward(const ScoreRows& rows, Bf16* to, float* scores) {
  softmax(rows, to, scores);
}
PLIMSOLL_WIDEST void backward(const ScoreRows& rows, float* to, const float* p, const float* dp) {
  gradient_of(rows, to, p, dp);
}
PLIMSOLL_WIDEST void backward(const ScoreRows& rows, Bf16* to, const Bf16* p, const float* dp) {
  gradient_of(rows, to, p, dp);
}

}  // namespace

void softmax_rows(const ScoreRows& rows, DType dtype, std::byte* to, float* scores) {
  with_type(dtype,
            [&](auto* type) { forward(rows, reinterpret_cast<decltype(type)>(to), scores); });
}

void softmax_gradient_rows(const ScoreRows& rows, DType dtype, std::byte* to,
                           const std::byte* probabilities, const float* gradient) {
  with_type(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    backward(rows, reinterpret_cast<T*>(to), reinterpret_cast<const T*>(probabilities), gradient);
  });
}

}  // namespace plimsoll::trainer::cpu
