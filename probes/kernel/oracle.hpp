// What an operator must have computed, one element at a time, in double precision and by the
// definition: the plainest loops there are, slow and independent of every library.

#pragma once

#include <cstdint>

#include "trainer/backend/backend.hpp"

namespace plimsoll::probes {

// A value by definition, and the sum of the magnitudes of its terms: rounding errors of any order
// of summation are small against that sum.
struct Exact {
  double value = 0;
  double magnitude = 0;
};

class Oracle {
 public:
  // Reads the operands of `direction` whenever it is asked; owns nothing.
  Oracle(const Graph& graph, const Op& op, Direction direction, const trainer::Operands& operands);

  // Outputs are numbered through: y, or dx, or dw[0] and then dw[1].
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

  [[nodiscard]] Exact linear(const Linear& a, std::int64_t output) const;
  [[nodiscard]] Exact convolution(const Convolution& a, std::int64_t output) const;
  [[nodiscard]] Exact convolution_forward(const Convolution& a, std::int64_t output) const;
  [[nodiscard]] Exact convolution_dx(const Convolution& a, std::int64_t output) const;
  [[nodiscard]] Exact convolution_dw(const Convolution& a, std::int64_t output) const;
  [[nodiscard]] Exact pool(const Pool& a, std::int64_t output) const;
  [[nodiscard]] Exact pool_forward(const Pool& a, std::int64_t output) const;
  [[nodiscard]] std::int64_t largest(const Pool& a, std::int64_t output) const;
  [[nodiscard]] Exact relu(std::int64_t output) const;
  [[nodiscard]] Exact loss(const SoftmaxCrossEntropy& a, std::int64_t output) const;

  const Graph& graph_;
  const Op& op_;
  Direction direction_;
  trainer::Operands operands_;
};

// A value of a view as a double, whatever its type.
[[nodiscard]] double value_at(const trainer::View& view, std::int64_t index);
void set_value(const trainer::View& view, std::int64_t index, double value);

}  // namespace plimsoll::probes
