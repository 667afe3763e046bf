// A measured time by size, one dimension: monotone, log-log between the measurements.

#pragma once

#include <vector>

namespace plimsoll::models {

struct SweepPoint {
  double size = 0;
  double time = 0, low = 0, high = 0;  // with its interval
};

struct Sweep {
  std::vector<SweepPoint> points;  // sorted, distinct sizes, times never decreasing
  double log_error = 0;            // leave-one-out, root mean square, of the inner points
};

struct SweepValue {
  double time = 0, low = 0, high = 0;  // interval of the measurements around
  double log_sd = 0;                   // of the interpolation: 0 at a measured size
  bool extrapolated = false;
};

// At least one point, each with size > 0 and 0 < low <= time <= high.
[[nodiscard]] Sweep make_sweep(std::vector<SweepPoint> points);
[[nodiscard]] SweepValue at(const Sweep& sweep, double size);

}  // namespace plimsoll::models
