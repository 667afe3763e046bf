// A sum of monomial costs, fitted to times on a logarithmic scale.
//
//     t(x) = sum_j a_j prod_d x_d^e_jd,   a_j > 0
//     minimise  sum_i (ln t_i - ln t(x_i))^2 + lambda sum_j (ln a_j - b_j)^2
//
// b_j gives every term but a constant one an equal share of the times (a constant a twentieth of
// it). Gauss-Newton in ln a_j: d ln t / d ln a_j is the share of term j, so that terms which
// explain nothing fade out and none turns negative.
//
// Source    The terms of a product are those of every roofline: operations, and the traffic of each
//           operand. Levenberg-Marquardt: Nocedal and Wright, Numerical Optimization, section 10.3.
// Assumes   Relative errors count: a microsecond kernel as much as a millisecond one.
// Fails     Where time is no sum of such costs; the surface above corrects what is left over.
// Limits    One point: the shares of b. A single term: the geometric mean of time over cost.
// Tests     tests/models/numeric/monomials_test.cpp.

#include "models/numeric/monomials.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/error.hpp"
#include "models/numeric/cholesky.hpp"

namespace plimsoll::models {
namespace {

constexpr double kLn2 = 0.6931471805599453;
constexpr double kTether = 0.001;        // lambda
constexpr double kConstantShare = 0.05;  // of the share of another term
constexpr int kIterations = 60;

using Vector = std::vector<double>;

double log_cost(const Exponents& term, const Vector& log2_sizes) {
  double sum = 0;
  for (std::size_t d = 0; d < term.size(); ++d) sum += term[d] * log2_sizes[d];
  return kLn2 * sum;
}

// ln a_j + ln cost_j for every term, and the logarithm of their sum.
struct Terms {
  Vector logs;
  double log_sum = 0;
  [[nodiscard]] double share(std::size_t j) const { return std::exp(logs[j] - log_sum); }
};

Terms terms_at(const CostSum& sum, const Vector& log2_sizes) {
  Terms t;
  for (std::size_t j = 0; j < sum.terms.size(); ++j) {
    t.logs.push_back(sum.log_factors[j] + log_cost(sum.terms[j], log2_sizes));
  }
  const double largest = *std::max_element(t.logs.begin(), t.logs.end());
  double total = 0;
  for (const double v : t.logs) total += std::exp(v - largest);
  t.log_sum = largest + std::log(total);
  return t;
}

double median(Vector values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Vector equal_shares(const CostSum& sum, const std::vector<Vector>& x, const Vector& y) {
  Vector factors;
  for (const Exponents& term : sum.terms) {
    Vector ratios;
    for (std::size_t i = 0; i < x.size(); ++i) ratios.push_back(y[i] - log_cost(term, x[i]));
    const bool constant = std::all_of(term.begin(), term.end(), [](double e) { return e == 0; });
    factors.push_back(median(std::move(ratios)) - std::log(static_cast<double>(sum.terms.size())) +
                      (constant && sum.terms.size() > 1 ? std::log(kConstantShare) : 0.0));
  }
  return factors;
}

double loss_of(const CostSum& sum, const Vector& tether, const std::vector<Vector>& x,
               const Vector& y) {
  double loss = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    loss += std::pow(y[i] - terms_at(sum, x[i]).log_sum, 2);
  }
  for (std::size_t j = 0; j < tether.size(); ++j) {
    loss += kTether * std::pow(sum.log_factors[j] - tether[j], 2);
  }
  return loss;
}

// One damped Gauss-Newton step from `sum`.
Vector step_from(const CostSum& sum, const Vector& tether, const std::vector<Vector>& x,
                 const Vector& y, double damping) {
  const std::size_t count = sum.terms.size();
  Matrix normal(count), lower(count);
  Vector gradient(count);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Terms t = terms_at(sum, x[i]);
    for (std::size_t j = 0; j < count; ++j) {
      gradient[j] += t.share(j) * (y[i] - t.log_sum);
      for (std::size_t k = 0; k < count; ++k) normal(j, k) += t.share(j) * t.share(k);
    }
  }
  for (std::size_t j = 0; j < count; ++j) {
    gradient[j] -= kTether * (sum.log_factors[j] - tether[j]);
    normal(j, j) += kTether + damping;
  }
  expects(cholesky(normal, lower), "a damped normal matrix is positive definite");
  return solve(lower, std::move(gradient));
}

}  // namespace

double log_time(const CostSum& sum, const Vector& log2_sizes) {
  return terms_at(sum, log2_sizes).log_sum;
}

Vector slopes(const CostSum& sum, const Vector& log2_sizes) {
  const Terms t = terms_at(sum, log2_sizes);
  Vector result(log2_sizes.size());
  for (std::size_t j = 0; j < sum.terms.size(); ++j) {
    for (std::size_t d = 0; d < result.size(); ++d) result[d] += t.share(j) * sum.terms[j][d];
  }
  return result;
}

CostSum fit_cost_sum(std::vector<Exponents> terms, const std::vector<Vector>& log2_sizes,
                     const Vector& log_times) {
  expects(!terms.empty() && !log2_sizes.empty() && log2_sizes.size() == log_times.size(),
          "fit_cost_sum: terms and as many times as places");
  CostSum sum{.terms = std::move(terms), .log_factors = {}};
  sum.log_factors = equal_shares(sum, log2_sizes, log_times);
  const Vector tether = sum.log_factors;
  double damping = 0.1, loss = loss_of(sum, tether, log2_sizes, log_times);
  for (int i = 0; i < kIterations; ++i) {
    const Vector step = step_from(sum, tether, log2_sizes, log_times, damping);
    CostSum next = sum;
    for (std::size_t j = 0; j < step.size(); ++j) next.log_factors[j] += step[j];
    const double next_loss = loss_of(next, tether, log2_sizes, log_times);
    if (next_loss < loss) {
      const bool done = loss - next_loss < 1e-10 * loss;
      sum = std::move(next);
      loss = next_loss;
      damping *= 0.3;
      if (done) break;
    } else {
      damping *= 4.0;
    }
  }
  return sum;
}

}  // namespace plimsoll::models
