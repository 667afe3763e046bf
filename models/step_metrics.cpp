// A prediction as metrics, under the names that a run uses too.
//
//     sample_rate = batch / step;  flop_rate = FLOP of the batch / step
//     utilisation = flop_rate / (compute ceiling of all ranks' cores);  peak_memory: all ranks
//     together
//
// Phases are of one rank and add up to the step, as the measured ones do to a rank's mean step.
//
// Source    The report's metric names: core/record.hpp.
// Assumes   -
// Fails     -
// Limits    Without a measured compute ceiling there is no utilisation.
// Tests     tests/models/step_test.cpp.

#include <utility>

#include "models/memory/footprint.hpp"
#include "models/operator/roofline.hpp"
#include "models/step.hpp"

namespace plimsoll::models {
namespace {

Metric metric(const std::string& name, const std::string& unit, Better better, double value) {
  Metric m;
  m.name = name;
  m.unit = unit;
  m.better = better;
  m.value = value;
  m.estimator = Estimator::fit;
  m.kind = Kind::fitted;
  m.source = "plimsoll model";
  return m;
}

// A rate of `amount` a step, with the interval of the step turned round.
Metric rate(const std::string& name, const std::string& unit, double amount,
            const Estimate<Seconds>& step) {
  Metric m = metric(name, unit, Better::higher, amount / step.value.value());
  m.interval = Interval{.low = amount / step.high.value(),
                        .high = amount / step.low.value(),
                        .confidence = 0.95,
                        .method = "propagated"};
  return m;
}

}  // namespace

std::vector<Metric> metrics_of(const Prediction& prediction, const Machine& machine) {
  const Estimate<Seconds>& step = prediction.step_time;
  std::vector<Metric> result;
  Metric time = metric("predict.step_time", "s", Better::lower, step.value.value());
  time.interval = Interval{.low = step.low.value(),
                           .high = step.high.value(),
                           .confidence = 0.95,
                           .method = "propagated"};
  result.push_back(std::move(time));
  result.push_back(
      rate("predict.sample_rate", "1/s", static_cast<double>(prediction.plan.batch), step));
  const double flop = prediction.workload.flop_per_step.value();
  result.push_back(rate("predict.flop_rate", "FLOP/s", flop, step));

  const Load all{.threads = prediction.plan.workers * prediction.plan.threads, .busy_cores = 0};
  const Ceilings ceiling = ceilings(machine, prediction.plan.dtype, all, Bytes(0));
  if (ceiling.compute) {
    result.push_back(rate("predict.utilisation", "1", flop / ceiling.compute->value(), step));
  }
  result.push_back(metric("predict.peak_memory", "B", Better::lower,
                          total(prediction.memory).value() * prediction.plan.workers));
  for (const auto& [name, phase] : kNamedPhases) {
    result.push_back(metric(std::string("predict.phase.") + name, "s", Better::lower,
                            (prediction.phases.*phase).value()));
  }
  return result;
}

}  // namespace plimsoll::models
