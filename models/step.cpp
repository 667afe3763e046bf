// From a machine, a workload and a plan to a prediction: looks up every part, composes, explains.
//
//     step = input + forward + backward + stolen + communication_exposed + optimizer
//
// Source    models/composition.cpp for the sum; one file for every part.
// Assumes   Steady state: neither the first steps nor an epoch's last, smaller batch. What is
// assumed
//           for want of a measurement is listed in Prediction::assumptions.
// Fails     On plans without a model here (see core/plan.hpp, check()) and machines without the
//           tables: an Error.
// Limits    One sample, one worker: dispatch costs dominate.
// Tests     tests/models/step_test.cpp.

#include "models/step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "models/composition.hpp"
#include "models/memory/footprint.hpp"

namespace plimsoll::models {
namespace {

WorkloadSummary summary_of(const Workload& workload, const Plan& plan) {
  return {.name = workload.name,
          .parameters = parameter_count(workload.graph),
          .flop_per_step = training_cost(workload.graph, plan.batch, plan.dtype).flop,
          .dataset = workload.dataset};
}

void add_operator_parts(const Workload& workload, const Operators& operators, std::int64_t batch,
                        Parts& parts) {
  const Graph& graph = workload.graph;
  // A norm gives the gradients of its parameters with that of its input.
  const auto last_of = [&](const Op& op) {
    return computes(graph, op, Direction::backward_weights) ? Direction::backward_weights
                                                            : Direction::backward_data;
  };
  const auto add = [&](int index, Direction direction, const char* phase) {
    const Op& op = graph.ops[static_cast<std::size_t>(index)];
    if (!computes(graph, op, direction)) return;
    parts.operators.push_back({.component = op.name + "." + to_string(direction),
                               .phase = phase,
                               .op = index,
                               .finishes_gradients = direction == last_of(op),
                               .time = operators.time(op, direction, batch)});
  };
  // A gradient of a tensor that a later operator, or this one by its other input, has handed one.
  std::vector<int> handed(graph.tensors.size(), 0);
  const auto accumulate = [&](int index) {
    for (const int input : graph.ops[static_cast<std::size_t>(index)].inputs) {
      const auto at = static_cast<std::size_t>(input);
      if (handed[at]++ == 0 || gradient_contributions(graph, input) < 2) continue;
      parts.operators.push_back({.component = graph.tensors[at].name + ".accumulate",
                                 .phase = "backward",
                                 .op = index,
                                 .time = operators.accumulation(input, batch)});
    }
  };
  const int count = static_cast<int>(graph.ops.size());
  for (int i = 0; i < count; ++i) add(i, Direction::forward, "forward");
  for (int i = count - 1; i >= 0; --i) {
    add(i, Direction::backward_weights, "backward");  // first: other ranks wait for it
    add(i, Direction::backward_data, "backward");
    accumulate(i);
  }
  parts.operators.push_back({.component = "sgd_momentum",
                             .phase = "optimizer",
                             .op = -1,
                             .time = operators.optimizer(parameter_count(graph))});
}

void add_reduction_parts(const Machine& machine, const Workload& workload, const Plan& plan,
                         Parts& parts, std::vector<std::string>& assumptions) {
  if (plan.workers == 1) return;
  int index = 0;
  for (const Bucket& bucket : buckets(workload.graph, plan.bucket)) {
    const MeasuredTime time = measured_all_reduce(
        machine, {.ranks = plan.workers, .payload = bucket.bytes}, plan.comm, plan.algorithm);
    if (!time.assumption.empty() && index == 0) assumptions.push_back(time.assumption);
    parts.reductions.push_back({.component = "all_reduce." + std::to_string(index++),
                                .ready_after_op = bucket.ready_after_op,
                                .bytes = bucket.bytes,
                                .time = time});
  }
}

double straggler_ratio(const Machine& machine, const Plan& plan) {
  return machine.jitter_ratio ? straggler_factor(plan.workers, *machine.jitter_ratio) - 1 : 0.0;
}

// A rank's loader threads share the rank's own cores, all of which compute.
int free_cores(const Plan& plan, std::vector<std::string>& assumptions) {
  if (plan.loader_workers > 0) {
    assumptions.emplace_back(
        "loader threads run on their rank's cores and take their time from it, "
        "counted as input");
  }
  return 0;
}

void explain(const Parts& parts, const Composition& composition, Prediction& prediction) {
  prediction.assumptions.emplace_back(
      "memory counts the ranks' buffers; the data set and libraries come on top");
  for (const BreakdownItem& item : composition.breakdown) {
    if (item.extrapolated) prediction.extrapolated.push_back(item.component);
  }
  if (!parts.reductions.empty() && parts.compute_share >= 1) {
    prediction.assumptions.emplace_back(
        "reductions are work of the cores that compute: those during backward delay it, none is "
        "free");
  }
}

}  // namespace

Prediction predict(const Machine& machine, const Workload& workload, const Plan& plan,
                   const WhatIf& what_if) {
  check(plan, machine.usable_cores > 0 ? machine.usable_cores : std::numeric_limits<int>::max());
  const std::int64_t batch = shares(plan.batch, plan.workers).front();
  const Load load{.threads = plan.threads, .busy_cores = (plan.workers - 1) * plan.threads};
  const Operators operators(machine, workload.graph, plan.dtype, load);

  Prediction prediction;
  prediction.workload = summary_of(workload, plan);
  prediction.plan = plan;
  prediction.assumptions = operators.assumptions();
  if (what_if != WhatIf{}) prediction.assumptions.push_back("what if: " + text_of(what_if));
  if (plan.batch % plan.workers != 0) {
    prediction.assumptions.push_back(
        "the batch does not divide evenly: the step is that of the "
        "rank with " +
        std::to_string(batch) + " samples");
  }

  Parts parts{.batch = plan.batch,
              .operators = {},
              .reductions = {},
              .gather = operators.gather(batch, elements(workload.sample_shape))};
  parts.drift_ratio = machine.drift_ratio.value_or(0);
  parts.free_cores = free_cores(plan, prediction.assumptions);
  add_operator_parts(workload, operators, batch, parts);
  add_reduction_parts(machine, workload, plan, parts, prediction.assumptions);
  parts.straggler_ratio = straggler_ratio(machine, plan);

  const Composition composition = compose(parts, plan, what_if);
  const double relative = composition.half_width / composition.step;
  prediction.step_time = {.value = composition.step,
                          .low = composition.step * std::exp(-relative),
                          .high = composition.step * std::exp(relative),
                          .kind = Kind::fitted,
                          .source = "models/step"};
  prediction.phases = composition.phases;
  prediction.breakdown = composition.breakdown;
  prediction.memory = footprint(workload, plan, batch);
  prediction.binds = binding_limit(composition);
  prediction.limits = limits(composition, plan.batch);
  prediction.sensitivity = sensitivities(parts, plan, what_if);
  explain(parts, composition, prediction);
  return prediction;
}

}  // namespace plimsoll::models
