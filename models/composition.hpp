// A step as its measured parts, and how they add up: the parts are looked up once, composing them
// again under what-if factors is cheap.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan.hpp"
#include "core/record.hpp"
#include "models/collective/collective.hpp"
#include "models/operator/operators.hpp"
#include "models/strategy/data_parallel.hpp"
#include "models/what_if.hpp"

namespace plimsoll::models {

struct OperatorPart {
  std::string component;  // "fc1.forward"
  std::string phase;      // forward | backward | optimizer
  int op = 0;             // index in the graph; -1 for the optimizer
  bool finishes_gradients = false;
  OperatorTime time;
};

struct ReductionPart {
  std::string component;  // "all_reduce.0"
  int ready_after_op = 0;
  Bytes bytes;
  MeasuredTime time;
};

// Everything that the slowest rank (the one with the largest share) does in a step.
struct Parts {
  std::int64_t batch = 1;                 // global
  std::vector<OperatorPart> operators;    // in order of execution
  std::vector<ReductionPart> reductions;  // in order of buckets
  OperatorTime gather;                    // assembling the rank's batch, one thread
  double straggler_ratio = 0;             // expected wait for the slowest rank over computing
  double drift_ratio = 0;                 // move of the machine while it was measured
  double compute_share = 1;               // of a reduction: work of the computing cores
  int free_cores = 0;
};

struct Composition {
  Phases phases;
  Seconds step;
  Seconds stolen;      // reductions' work on the computing cores during backward
  Seconds half_width;  // of the 95 % interval
  std::vector<BreakdownItem> breakdown;
  Seconds compute, memory, dispatch, communication, input;  // each as if it were the only limit
};

[[nodiscard]] Composition compose(const Parts& parts, const Plan& plan, const WhatIf& what_if);

// The resource whose exposed time is largest: compute, memory, dispatch, communication or input.
[[nodiscard]] std::string binding_limit(const Composition& composition);
// Samples a second were each resource the only limit; resources that do nothing are left out.
[[nodiscard]] std::vector<Limit> limits(const Composition& composition, std::int64_t batch);
// d ln(step) / d ln(input) by central differences of 1 %, around `what_if`.
[[nodiscard]] std::vector<Sensitivity> sensitivities(const Parts& parts, const Plan& plan,
                                                     const WhatIf& what_if);

}  // namespace plimsoll::models
