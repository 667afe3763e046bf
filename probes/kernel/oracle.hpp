// What an operator must have computed, one element at a time, in double precision and by the
// definition: the plainest loops there are, slow and independent of every library.

#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "trainer/backend/backend.hpp"

namespace plimsoll::probes {

// A value by definition, and the sum of the magnitudes of its terms: rounding errors of any order
// of summation are small against that sum.
struct Exact {
  double value = 0;
  double magnitude = 0;
  // In bf16 runs: magnitudes of terms that an operator rounds to bf16 before it sums them.
  double rounded = 0;
};

inline void add(Exact& sum, double term) {
  sum.value += term;
  sum.magnitude += term < 0 ? -term : term;
}

class Oracle {
 public:
  // Reads the operands of `direction` when it is asked: inputs must stay what they were at the
  // first question.
  Oracle(const Graph& graph, const Op& op, Direction direction, const trainer::Operands& operands);

  // Outputs are numbered through: y, or dx, or dw[0] and then dw[1]; of a norm's one backward pass
  // dx and then both dw.
  [[nodiscard]] std::int64_t outputs() const;
  [[nodiscard]] Exact expected(std::int64_t output) const;
  [[nodiscard]] double actual(std::int64_t output) const;
  void poison(std::int64_t output) const;  // writes NaN there: a kernel that skips it is seen
  [[nodiscard]] bool agrees(std::int64_t output) const;

 private:
  struct Place {
    trainer::View view;
    std::int64_t at;
  };
  [[nodiscard]] Place place(std::int64_t output) const;
  [[nodiscard]] const Shape& shape(int tensor) const;
  [[nodiscard]] std::int64_t inputs() const;      // elements of dx
  [[nodiscard]] std::int64_t parameters() const;  // elements of dw

  [[nodiscard]] Exact linear(const Linear& a, std::int64_t output) const;
  [[nodiscard]] Exact convolution(const Convolution& a, std::int64_t output) const;
  [[nodiscard]] Exact convolution_forward(const Convolution& a, std::int64_t output) const;
  [[nodiscard]] Exact convolution_dx(const Convolution& a, std::int64_t output) const;
  [[nodiscard]] Exact convolution_dw(const Convolution& a, std::int64_t output) const;
  [[nodiscard]] Exact pool(const Pool& a, std::int64_t output) const;
  [[nodiscard]] Exact pool_forward(const Pool& a, std::int64_t output) const;
  [[nodiscard]] std::int64_t largest(const Pool& a, std::int64_t output) const;
  [[nodiscard]] Exact batch_norm(const BatchNorm& a, std::int64_t output) const;
  [[nodiscard]] Exact layer_norm(const LayerNorm& a, std::int64_t output) const;
  [[nodiscard]] Exact relu(std::int64_t output) const;
  [[nodiscard]] Exact gelu(const Gelu& a, std::int64_t output) const;
  [[nodiscard]] Exact embedding(const Embedding& a, std::int64_t output) const;
  [[nodiscard]] Exact dropout(const Dropout& a, std::int64_t output) const;
  [[nodiscard]] Exact attention(const Attention& a, std::int64_t output) const;
  [[nodiscard]] Exact attention_gradient(const Attention& a, std::int64_t output) const;
  [[nodiscard]] Exact loss(const SoftmaxCrossEntropy& a, std::int64_t output) const;
  [[nodiscard]] Exact row_loss(const SoftmaxCrossEntropy& a, std::int64_t row) const;

  // What softmax and its gradient are in one head of one sample, kept for the next
  // question.
  struct Head {
    std::vector<double> p, ds, rough;  // rough: bound of what bf16 does to ds
  };
  const Head& head(const Attention& a, std::int64_t task) const;

  const Graph& graph_;
  const Op& op_;
  Direction direction_;
  trainer::Operands operands_;
  mutable std::map<std::int64_t, Head> heads_;
};

// A value of a view as a double, whatever its type.
[[nodiscard]] double value_at(const trainer::View& view, std::int64_t index);
void set_value(const trainer::View& view, std::int64_t index, double value);

}  // namespace plimsoll::probes
