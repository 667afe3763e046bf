// Data parallelism: gradient buckets reduced while backward still runs.

#pragma once

#include <vector>

#include "core/units.hpp"

namespace plimsoll::models {

// Backward of one operator, in the order of execution.
struct BackwardOp {
  int op = 0;  // index in the graph
  Seconds time;
  bool finishes_gradients = true;  // of this operator's parameters
};

struct Reduction {
  int ready_after_op = 0;  // index of the operator whose backward completes the bucket
  Seconds time;
};

struct Overlap {
  Seconds backward;  // computing alone
  Seconds stolen;    // taken from the computing cores by reductions while backward ran
  Seconds exposed;   // waited for after backward
  Seconds hidden;    // of the reductions, while backward ran; `stolen` is part of it
  Seconds end;       // backward + stolen + exposed
  std::vector<Seconds> reduction_ends;
};

// `compute_share` in [0, 1]: how much of a reduction is work of the computing cores themselves.
[[nodiscard]] Overlap overlap(const std::vector<BackwardOp>& backward,
                              const std::vector<Reduction>& reductions, double compute_share,
                              bool overlapped);

// Expected time until the slowest of n ranks is done, over the mean: 1 for one rank.
[[nodiscard]] double straggler_factor(int ranks, double jitter_ratio);

}  // namespace plimsoll::models
