// Waiting for input.
//
//     no loader thread:            exposed = L
//     loader threads, free cores:  exposed = max(0, L / p - step),  p = min(workers, free cores /
//     ranks) loader threads, none free:   exposed = L: assembling takes turns with computing
//
// L is the CPU time of assembling one rank's batch. Prefetched batches smooth jitter but do not
// change the steady state: a loader slower than the step sets the pace.
//
// Source    Counting the CPU time; d2l.ai, "Asynchronous Computation", for max(L, step).
// Assumes   The data set is in memory; loader threads share free cores evenly and need no lock.
// Fails     When storage is slower than assembling (data larger than memory).
// Limits    L = 0: nothing. Very slow loader: period L / p.
// Tests     tests/models/input/loader_test.cpp.

#include "models/input/loader.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace plimsoll::models {

LoaderTime loader_time(const LoaderRequest& r) {
  expects(r.ranks >= 1 && r.loader_workers >= 0, "loader_time: ranks >= 1, workers >= 0");
  const bool ahead = r.loader_workers > 0 && r.prefetch > 0;
  if (!ahead || r.free_cores <= 0) {
    return {.exposed = r.assemble, .hidden = Seconds(0), .period = r.assemble, .steals = ahead};
  }
  const double parallel =
      std::min(static_cast<double>(r.loader_workers), static_cast<double>(r.free_cores) / r.ranks);
  const Seconds period = r.assemble / parallel;
  const Seconds exposed = std::max(Seconds(0), period - r.step);
  return {.exposed = exposed, .hidden = period - exposed, .period = period, .steals = false};
}

}  // namespace plimsoll::models
