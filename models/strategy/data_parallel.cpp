// Bucketed reduction overlapped with backward, and the price of waiting for the slowest rank.
//
//     ready_i = time at which backward has made the last gradient of bucket i
//     start_i = max(ready_i, end_{i-1});   end_i = start_i + T_i
//     backward_end = T_backward + s * sum of T_i posted before the last kernel
//     exposed = max(0, end_last - backward_end);   step part = backward_end + exposed
//     without overlap:  exposed = sum T_i
//
// s is the share of a reduction that is work of the computing cores: whatever they spend on it
// delays all later backward by s T_i. s = 0 is a link with its own engine (the formula of PyTorch's
// DDP); s = 1 is shared memory polled between kernels: then nothing is saved, only moved into
// backward.
//
//     E[max of n] = mean (1 + cv z_n),  z_n = Phi^-1((n - 0.375) / (n + 0.25))
//
// Source    Li et al., "PyTorch Distributed", VLDB 2020, section 3.2.3; Blom, "Statistical
//           Estimates and Transformed Beta-Variables", 1958.
// Assumes   Reductions run one after the other in bucket order; ranks jitter independently.
// Fails     Where a persistently slow rank sets the pace: cv speaks of chance only.
// Limits    No reductions: nothing but backward. s = 0 and slow backward: all but the last hide.
// Tests     tests/models/strategy/data_parallel_test.cpp.

#include "models/strategy/data_parallel.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/error.hpp"

namespace plimsoll::models {
namespace {

// p in (0.5, 1): from the logistic approximation, Newton steps on erfc converge to rounding.
double normal_quantile(double p) {
  double x = std::log(p / (1 - p)) / 1.702;
  for (int i = 0; i < 8; ++i) {
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * 3.14159265358979323846);
    x -= (0.5 * std::erfc(-x / std::sqrt(2.0)) - p) / density;
  }
  return x;
}

}  // namespace

Overlap overlap(const std::vector<BackwardOp>& backward, const std::vector<Reduction>& reductions,
                double compute_share, bool overlapped) {
  expects(compute_share >= 0 && compute_share <= 1, "overlap: compute_share lies in [0, 1]");
  Overlap result;
  Seconds clock;     // of the computing cores
  Seconds link_end;  // of the last reduction
  Seconds reducing;
  std::size_t next = 0;
  const auto reduce = [&](double share) {
    const Seconds time = reductions[next++].time;
    link_end = std::max(clock, link_end) + time;
    clock += share * time;
    reducing += time;
    result.reduction_ends.push_back(link_end);
  };
  for (std::size_t i = 0; i < backward.size(); ++i) {
    result.backward += backward[i].time;
    clock += backward[i].time;
    const bool last = i + 1 == backward.size();
    if (!overlapped || last || !backward[i].finishes_gradients) continue;
    while (next < reductions.size() && reductions[next].ready_after_op == backward[i].op) {
      reduce(compute_share);
    }
  }
  result.stolen = clock - result.backward;
  while (next < reductions.size()) reduce(0.0);
  result.exposed = std::max(Seconds(0), link_end - clock);
  result.hidden = std::max(Seconds(0), reducing - result.exposed);  // rounding may go below
  result.end = clock + result.exposed;
  return result;
}

double straggler_factor(int ranks, double jitter_ratio) {
  expects(ranks >= 1 && jitter_ratio >= 0, "straggler_factor: ranks >= 1, jitter >= 0");
  if (ranks == 1) return 1.0;
  const double n = ranks;
  return 1.0 + jitter_ratio * normal_quantile((n - 0.375) / (n + 0.25));
}

}  // namespace plimsoll::models
