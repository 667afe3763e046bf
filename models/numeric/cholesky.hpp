// Small dense symmetric positive definite systems.

#pragma once

#include <cstddef>
#include <vector>

namespace plimsoll::models {

// Row-major square matrix.
struct Matrix {
  std::size_t size = 0;
  std::vector<double> at;
  explicit Matrix(std::size_t n) : size(n), at(n * n, 0.0) {}
  double& operator()(std::size_t i, std::size_t j) { return at[i * size + j]; }
  double operator()(std::size_t i, std::size_t j) const { return at[i * size + j]; }
};

// Lower triangle L with L L' = a. False when `a` is not positive definite.
[[nodiscard]] bool cholesky(const Matrix& a, Matrix& lower);

// x with L x = b, and x with L L' x = b.
[[nodiscard]] std::vector<double> solve_lower(const Matrix& lower, std::vector<double> b);
[[nodiscard]] std::vector<double> solve(const Matrix& lower, std::vector<double> b);

// Diagonal of (L L')^-1.
[[nodiscard]] std::vector<double> inverse_diagonal(const Matrix& lower);

}  // namespace plimsoll::models
