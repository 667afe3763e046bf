// A time as a sum of costs, each a product of powers of sizes: the physics under a time surface.

#pragma once

#include <vector>

namespace plimsoll::models {

// Exponents of the sizes in one cost: {1, 1, 1} of (m, n, k) is the work of a product, {0, 1, 1}
// the traffic of its weights, {0, 0, 0} the call itself.
using Exponents = std::vector<double>;

struct CostSum {
  std::vector<Exponents> terms;
  std::vector<double> log_factors;  // ln a_j
};

// ln(sum_j a_j prod_d size_d^e_jd) at log2 sizes.
[[nodiscard]] double log_time(const CostSum& sum, const std::vector<double>& log2_sizes);
// d ln time / d ln size_d there: the shares of the terms times their exponents.
[[nodiscard]] std::vector<double> slopes(const CostSum& sum, const std::vector<double>& log2_sizes);

// Factors a_j > 0 that bring ln time closest to `log_times`, in least squares. At least one point.
[[nodiscard]] CostSum fit_cost_sum(std::vector<Exponents> terms,
                                   const std::vector<std::vector<double>>& log2_sizes,
                                   const std::vector<double>& log_times);

}  // namespace plimsoll::models
