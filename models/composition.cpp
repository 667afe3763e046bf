// How the parts of a data-parallel step add up.
//
//     forward = sum t_op;   backward, stolen, exposed = overlap(...);   optimizer = t_sgd
//     computed = forward + backward + optimizer
//     exposed += computed * straggler;   input = loader(computed + stolen + exposed)
//     step = input + forward + backward + stolen + exposed + optimizer
//
// The phase communication_hidden is what was reduced while backward ran; the part of it that the
// computing cores did themselves (stolen) is in the step, the rest is free.
//
//     half width^2 = (sum t_i m_i)^2 + sum (t_i a_i)^2 + (1.96 drift step)^2
//
// m_i is the relative interval of the measurements behind term i: they were all taken in one state
// of one machine, so their errors are counted as common and add. a_i is the relative interval of
// the interpolation, independent from term to term. The drift is how far the machine itself moved
// while it was measured.
//
// Source    models/strategy/data_parallel.cpp, models/input/loader.cpp; error propagation: JCGM
//           100:2008 (GUM), section 5.2, correlated and uncorrelated inputs.
// Assumes   The rank with the largest share is the slowest; no host-to-device copy on a CPU.
// Fails     -
// Limits    One worker: no communication, no straggler.
// Tests     tests/models/step_test.cpp: a hand-made machine whose step is known by hand.

#include "models/composition.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/input/loader.hpp"

namespace plimsoll::models {
namespace {

constexpr double kHalfWidth = 1.96;

// Collects the terms of the interval.
class Uncertainty {
 public:
  void add(Seconds time, double common_ratio, double own_ratio) {
    common_ += time.value() * common_ratio;
    own_squares_ += std::pow(time.value() * own_ratio, 2);
  }
  [[nodiscard]] Seconds half_width(Seconds step, double drift_ratio) const {
    const double drift = kHalfWidth * drift_ratio * step.value();
    return Seconds(std::sqrt(common_ * common_ + own_squares_ + drift * drift));
  }

 private:
  double common_ = 0, own_squares_ = 0;
};

double half_ratio(const MeasuredTime& t) {
  return t.time > Seconds(0) ? (t.high - t.low) / t.time / 2 : 0.0;
}

void add_operators(const Parts& parts, const WhatIf& what_if, Composition& result,
                   std::vector<BackwardOp>& backward, Uncertainty& uncertainty) {
  for (const OperatorPart& part : parts.operators) {
    const OperatorTime t = with(part.time, what_if);
    result.breakdown.push_back({.component = part.component,
                                .phase = part.phase,
                                .seconds = t.time,
                                .hidden = Seconds(0),
                                .bound_by = bound_by(t),
                                .extrapolated = t.extrapolated});
    if (part.phase == "forward") result.phases.forward += t.time;
    if (part.phase == "optimizer") result.phases.optimizer += t.time;
    if (part.phase == "backward") backward.push_back({part.op, t.time, part.finishes_gradients});
    result.compute += t.compute;
    result.memory += t.memory;
    result.dispatch += t.dispatch;
    uncertainty.add(t.time, t.measured_error_ratio, t.model_error_ratio);
  }
}

void add_reductions(const Parts& parts, const Plan& plan, const WhatIf& what_if,
                    const std::vector<BackwardOp>& backward, Composition& result,
                    Uncertainty& uncertainty) {
  std::vector<Reduction> reductions;
  for (const ReductionPart& part : parts.reductions) {
    reductions.push_back({part.ready_after_op, part.time.time / what_if.all_reduce_ratio});
    result.communication += reductions.back().time;
  }
  const Overlap o = overlap(backward, reductions, parts.compute_share, plan.overlap);
  result.phases.backward = o.backward;
  result.phases.communication_exposed = o.exposed;
  result.phases.communication_hidden = o.hidden;
  result.stolen = o.stolen;
  // Exposed time belongs to the last reductions.
  Seconds exposed_left = o.exposed;
  std::vector<BreakdownItem> items;
  for (std::size_t i = reductions.size(); i-- > 0;) {
    const MeasuredTime& t = parts.reductions[i].time;
    const Seconds exposed = std::min(reductions[i].time, exposed_left);
    const Seconds behind = reductions[i].time - exposed;
    const Seconds stolen = plan.overlap ? parts.compute_share * behind : Seconds(0);
    exposed_left -= exposed;
    items.push_back({.component = parts.reductions[i].component,
                     .phase = exposed >= behind ? "communication_exposed" : "communication_hidden",
                     .seconds = exposed + stolen,
                     .hidden = behind - stolen,
                     .bound_by = "communication",
                     .extrapolated = t.extrapolated});
    uncertainty.add(exposed + stolen, half_ratio(t), kHalfWidth * t.log_sd);
  }
  result.breakdown.insert(result.breakdown.end(), items.rbegin(), items.rend());
}

void add_stragglers(const Parts& parts, Composition& result) {
  if (!(parts.straggler_ratio > 0)) return;
  const Seconds computed = result.phases.forward + result.phases.backward + result.phases.optimizer;
  const Seconds wait = computed * parts.straggler_ratio;
  result.phases.communication_exposed += wait;
  result.breakdown.push_back({.component = "stragglers",
                              .phase = "communication_exposed",
                              .seconds = wait,
                              .hidden = Seconds(0),
                              .bound_by = "communication"});
}

void add_input(const Parts& parts, const Plan& plan, const WhatIf& what_if, Composition& result,
               Uncertainty& uncertainty) {
  const Phases& p = result.phases;
  const Seconds computing =
      p.forward + p.backward + result.stolen + p.communication_exposed + p.optimizer;
  const LoaderTime t = loader_time({.assemble = parts.gather.time / what_if.loader_ratio,
                                    .step = computing,
                                    .loader_workers = plan.loader_workers,
                                    .prefetch = plan.prefetch,
                                    .ranks = plan.workers,
                                    .free_cores = parts.free_cores});
  result.phases.input = t.exposed;
  result.input = t.period;
  result.breakdown.push_back({.component = "loader",
                              .phase = "input",
                              .seconds = t.exposed,
                              .hidden = t.hidden,
                              .bound_by = "input",
                              .extrapolated = parts.gather.extrapolated});
  uncertainty.add(t.exposed, parts.gather.measured_error_ratio, parts.gather.model_error_ratio);
}

}  // namespace

Composition compose(const Parts& parts, const Plan& plan, const WhatIf& what_if) {
  Composition result;
  Uncertainty uncertainty;
  std::vector<BackwardOp> backward;
  add_operators(parts, what_if, result, backward, uncertainty);
  add_reductions(parts, plan, what_if, backward, result, uncertainty);
  add_stragglers(parts, result);
  add_input(parts, plan, what_if, result, uncertainty);
  const Phases& p = result.phases;
  result.step = p.input + p.h2d + p.forward + p.backward + result.stolen + p.communication_exposed +
                p.optimizer + p.idle;
  result.half_width = uncertainty.half_width(result.step, parts.drift_ratio);
  return result;
}

std::string binding_limit(const Composition& composition) {
  std::vector<std::pair<std::string, Seconds>> exposed = {
      {"compute", {}}, {"memory", {}}, {"dispatch", {}}, {"communication", {}}, {"input", {}}};
  for (const BreakdownItem& item : composition.breakdown) {
    for (auto& [resource, time] : exposed) {
      if (item.bound_by == resource) time += item.seconds;
    }
  }
  return std::max_element(exposed.begin(), exposed.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::vector<Limit> limits(const Composition& c, std::int64_t batch) {
  std::vector<Limit> result;
  const auto add = [&](const char* resource, Seconds time) {
    if (time > Seconds(0)) result.push_back({resource, static_cast<double>(batch) / time});
  };
  add("compute", c.compute);
  add("memory", c.memory);
  add("dispatch", c.dispatch);
  add("communication", c.communication);
  add("input", c.input);
  return result;
}

std::vector<Sensitivity> sensitivities(const Parts& parts, const Plan& plan,
                                       const WhatIf& what_if) {
  constexpr double kStep = 0.01;
  const std::vector<std::pair<std::string, double WhatIf::*>> inputs = {
      {"compute rate", &WhatIf::compute_ratio},       {"memory bandwidth", &WhatIf::memory_ratio},
      {"all-reduce rate", &WhatIf::all_reduce_ratio}, {"dispatch cost", &WhatIf::dispatch_ratio},
      {"loader rate", &WhatIf::loader_ratio},
  };
  std::vector<Sensitivity> result;
  for (const auto& [name, member] : inputs) {
    WhatIf more = what_if, less = what_if;
    more.*member *= 1 + kStep;
    less.*member *= 1 - kStep;
    const double change =
        std::log(compose(parts, plan, more).step / compose(parts, plan, less).step);
    result.push_back({name, change / std::log((1 + kStep) / (1 - kStep))});
  }
  return result;
}

}  // namespace plimsoll::models
