// Cholesky factor of a symmetric positive definite matrix, and what a Gaussian process needs of it.
//
//     a = L L',   x = a^-1 b by two triangular solves,   (a^-1)_ii = |column i of L^-1|^2
//
// Source    Golub and Van Loan, Matrix Computations, 4th edition, section 4.2.
// Assumes   A few hundred rows at most: no blocking.
// Fails     When the matrix is not positive definite to rounding: cholesky() says false.
// Limits    One row: square root and division.
// Tests     tests/models/numeric/surface_test.cpp: a hand-worked 2 x 2 system.

#include "models/numeric/cholesky.hpp"

#include <cmath>
#include <utility>

namespace plimsoll::models {

bool cholesky(const Matrix& a, Matrix& lower) {
  lower = Matrix(a.size);
  for (std::size_t j = 0; j < a.size; ++j) {
    for (std::size_t i = j; i < a.size; ++i) {
      double sum = a(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= lower(i, k) * lower(j, k);
      if (i == j) {
        if (!(sum > 0)) return false;
        lower(j, j) = std::sqrt(sum);
      } else {
        lower(i, j) = sum / lower(j, j);
      }
    }
  }
  return true;
}

std::vector<double> solve_lower(const Matrix& lower, std::vector<double> b) {
  for (std::size_t i = 0; i < lower.size; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= lower(i, k) * b[k];
    b[i] /= lower(i, i);
  }
  return b;
}

std::vector<double> solve(const Matrix& lower, std::vector<double> b) {
  b = solve_lower(lower, std::move(b));
  for (std::size_t i = lower.size; i-- > 0;) {
    for (std::size_t k = i + 1; k < lower.size; ++k) b[i] -= lower(k, i) * b[k];
    b[i] /= lower(i, i);
  }
  return b;
}

std::vector<double> inverse_diagonal(const Matrix& lower) {
  std::vector<double> diagonal(lower.size);
  std::vector<double> column(lower.size);
  for (std::size_t c = 0; c < lower.size; ++c) {
    double sum = 0;
    for (std::size_t i = c; i < lower.size; ++i) {  // column c of L^-1, zero above row c
      double value = i == c ? 1.0 : 0.0;
      for (std::size_t k = c; k < i; ++k) value -= lower(i, k) * column[k];
      column[i] = value / lower(i, i);
      sum += column[i] * column[i];
    }
    diagonal[c] = sum;
  }
  return diagonal;
}

}  // namespace plimsoll::models
