// The non-decreasing sequence nearest to given values.

#pragma once

#include <vector>

namespace plimsoll::models {

// Weighted least squares; weights > 0, as many as values.
[[nodiscard]] std::vector<double> isotonic(const std::vector<double>& values,
                                           const std::vector<double>& weights);

}  // namespace plimsoll::models
