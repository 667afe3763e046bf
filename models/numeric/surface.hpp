// A smooth, monotone time surface through scattered measurements: what a kernel takes at a shape
// that was never timed.
//
// Features are base-2 logarithms of sizes (so a step of 1 is a doubling), the value is the natural
// logarithm of a time. evaluate() never decreases when a feature grows, goes through every
// measurement to within its own interval and the table's scatter, and says how unsure it is.

#pragma once

#include <vector>

#include "models/numeric/lattice.hpp"
#include "models/numeric/monomials.hpp"

namespace plimsoll::models {

struct SurfacePoint {
  std::vector<double> features;
  double log_time = 0;
  double log_error = 0;  // standard error of log_time, from the measurement's interval
};

// What is known before any measurement.
struct SurfacePrior {
  std::vector<Exponents> terms;  // the costs that time is a sum of
  // The feature along which vector instructions run, if any: where the table says so, sizes count
  // as if filled up to whole vectors.
  int lanes_feature = -1;
};

struct Surface {
  SurfacePrior prior;
  double lanes = 1;                  // chosen by leave-one-out, as length and amplitude are
  std::vector<SurfacePoint> points;  // filled up to whole vectors
  CostSum mean;                      // the costs, fitted
  // The Gaussian process of what the costs leave over.
  double scatter = 0;                // of times between shapes, beyond the measurements' intervals
  double length = 1, amplitude = 1;  // octaves, log units
  std::vector<double> centre;
  std::vector<double> lower;    // Cholesky factor, row-major
  std::vector<double> weights;  // K^-1 (y - mean)
  std::vector<double> slopes;   // posterior trend, used outside the measured box
  double loo_error = 0;         // root mean square of the leave-one-out residuals, log units
  Lattice lattice;              // the posterior mean, made monotone
};

struct SurfaceValue {
  double log_time = 0;
  double log_sd = 0;          // of the interpolation itself
  bool extrapolated = false;  // a feature lies outside the measured range
};

// At least one point; every point and the prior have the same number of features.
[[nodiscard]] Surface fit_surface(const std::vector<SurfacePoint>& points, SurfacePrior prior);
[[nodiscard]] SurfaceValue evaluate(const Surface& surface, const std::vector<double>& features);

// Residuals ln(predicted) - ln(measured) when each point in turn is left out and everything is
// fitted again: what the model does not know about its own table. For benches and reports.
[[nodiscard]] std::vector<double> leave_one_out(const std::vector<SurfacePoint>& points,
                                                const SurfacePrior& prior);

}  // namespace plimsoll::models
