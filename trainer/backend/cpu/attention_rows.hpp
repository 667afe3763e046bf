// The loops of attention between its products: softmax of rows of scores and its gradient.

#pragma once

#include <cstddef>
#include <cstdint>

#include "core/workload.hpp"

namespace plimsoll::trainer::cpu {

// Rows first, first + 1, ... of queries; causal row i meets keys 0 to i. Matrices of scores have
// `stride` elements a row; of each the first `keys` are written.
struct ScoreRows {
  std::int64_t first, count, keys, stride;
  float scale;
  bool causal;
};

// to = softmax(scale * scores), 0 where a key is not met; `scores` is overwritten.
void softmax_rows(const ScoreRows& rows, DType dtype, std::byte* to, float* scores);

// to = p * (gradient - sum(gradient * p)) * scale, with p = softmax_rows' result.
void softmax_gradient_rows(const ScoreRows& rows, DType dtype, std::byte* to,
                           const std::byte* probabilities, const float* gradient);

}  // namespace plimsoll::trainer::cpu
