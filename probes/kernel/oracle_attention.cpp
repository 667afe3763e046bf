// Attention by its definition.

#include <cmath>
#include <utility>

#include "probes/kernel/oracle.hpp"

namespace plimsoll::probes {
namespace {

// Element of queries (0), keys (1) or values (2) of a head, in rows of three thirds.
struct Thirds {
  std::int64_t positions, features, width, heads;

  [[nodiscard]] std::int64_t at(std::int64_t task, std::int64_t position, int third,
                                std::int64_t i) const {
    return row(task, position) * 3 * features + third * features + task % heads * width + i;
  }
  [[nodiscard]] std::int64_t of_y(std::int64_t task, std::int64_t position, std::int64_t i) const {
    return row(task, position) * features + task % heads * width + i;
  }
  [[nodiscard]] std::int64_t row(std::int64_t task, std::int64_t position) const {
    return task / heads * positions + position;
  }
};

Thirds thirds_of(const Shape& qkv, const Attention& a) {
  return {qkv[0], qkv[1] / 3, qkv[1] / 3 / a.heads, a.heads};
}

}  // namespace

const Oracle::Head& Oracle::head(const Attention& a, std::int64_t task) const {
  if (const auto known = heads_.find(task); known != heads_.end()) return known->second;
  const Thirds t = thirds_of(shape(op_.inputs.front()), a);
  const auto n = static_cast<std::size_t>(t.positions);
  const double scale = 1 / std::sqrt(static_cast<double>(t.width));
  Head head{.p = std::vector<double>(n * n, 0.0),
            .ds = std::vector<double>(n * n, 0.0),
            .rough = std::vector<double>(n * n, 0.0)};
  for (std::int64_t i = 0; i < t.positions; ++i) {
    const std::int64_t met = a.causal ? i + 1 : t.positions;
    double* const p = head.p.data() + i * t.positions;
    double sum = 0, along = 0, size = 0;
    for (std::int64_t j = 0; j < met; ++j) {
      for (std::int64_t k = 0; k < t.width; ++k) {
        p[j] += scale * value_at(operands_.x, t.at(task, i, 0, k)) *
                value_at(operands_.x, t.at(task, j, 1, k));
      }
      p[j] = std::exp(p[j]);  // scores of tests and probes are small
      sum += p[j];
    }
    for (std::int64_t j = 0; j < met; ++j) p[j] /= sum;
    if (direction_ == Direction::forward) continue;
    std::vector<double> dp(n, 0.0);
    for (std::int64_t j = 0; j < met; ++j) {
      double& d = dp[static_cast<std::size_t>(j)];
      for (std::int64_t k = 0; k < t.width; ++k) {
        d +=
            value_at(operands_.dy, t.of_y(task, i, k)) * value_at(operands_.x, t.at(task, j, 2, k));
      }
      along += d * p[j];
      size += std::abs(d) * p[j];
    }
    for (std::int64_t j = 0; j < met; ++j) {
      const auto at = static_cast<std::size_t>(i * t.positions + j);
      const double d = dp[static_cast<std::size_t>(j)];
      head.ds[at] = p[j] * (d - along) * scale;
      // Of p and of the sum, which p is in, and of ds itself once more.
      head.rough[at] = p[j] * (std::abs(d) + 2 * size) * scale + 2 * std::abs(head.ds[at]);
    }
  }
  return heads_.emplace(task, std::move(head)).first->second;
}

Exact Oracle::attention(const Attention& a, std::int64_t output) const {
  const Thirds t = thirds_of(shape(op_.inputs.front()), a);
  const std::int64_t row = output / t.features, column = output % t.features;
  const std::int64_t task = row / t.positions * t.heads + column / t.width;
  const Head& known = head(a, task);
  const double* const p = known.p.data() + row % t.positions * t.positions;
  Exact sum;
  for (std::int64_t j = 0; j < t.positions; ++j) {
    add(sum, p[j] * value_at(operands_.x, t.at(task, j, 2, column % t.width)));
  }
  if (operands_.x.dtype == DType::bf16) sum.rounded = sum.magnitude;
  return sum;
}

Exact Oracle::attention_gradient(const Attention& a, std::int64_t output) const {
  const Thirds t = thirds_of(shape(op_.inputs.front()), a);
  const std::int64_t row = output / (3 * t.features), column = output % (3 * t.features);
  const std::int64_t here = row % t.positions, k = column % t.features % t.width;
  const auto third = static_cast<int>(column / t.features);
  const std::int64_t task = row / t.positions * t.heads + column % t.features / t.width;
  const Head& known = head(a, task);
  Exact sum;
  double rough = 0;
  for (std::int64_t j = 0; j < t.positions; ++j) {
    // dQ = dS K; dK = dS^T Q; dV = P^T dO.
    const auto at =
        static_cast<std::size_t>(third == 0 ? here * t.positions + j : j * t.positions + here);
    const double other = third == 2 ? value_at(operands_.dy, t.of_y(task, j, k))
                                    : value_at(operands_.x, t.at(task, j, 1 - third, k));
    add(sum, (third == 2 ? known.p[at] : known.ds[at]) * other);
    rough += (third == 2 ? known.p[at] : known.rough[at]) * std::abs(other);
  }
  sum.magnitude += rough;
  if (operands_.x.dtype == DType::bf16) sum.rounded = rough;
  return sum;
}

}  // namespace plimsoll::probes
