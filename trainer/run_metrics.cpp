// One function a kind.

#include "trainer/run_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/statistics.hpp"
#include "trainer/finite.hpp"

namespace plimsoll::trainer {
namespace {

Metric from_samples(Metric metric, std::vector<double> samples) {
  const Summary summary = summarize(samples);
  metric.value = summary.median;
  metric.estimator = Estimator::median;
  if (samples.size() > 1) metric.interval = median_interval(samples);
  metric.summary = summary_fields(summary);
  metric.samples = std::move(samples);
  return metric;
}

template <class T>
std::optional<T> param(const Metric& metric, const char* name) {
  const auto found = metric.params.find(name);
  if (found == metric.params.end()) return std::nullopt;
  const T* value = std::get_if<T>(&found->second);
  return value == nullptr ? std::nullopt : std::optional<T>(*value);
}

}  // namespace

Metric plain_metric(std::string name, std::string unit, Better better, std::string source) {
  Metric result;
  result.name = std::move(name);
  result.unit = std::move(unit);
  result.better = better;
  result.source = std::move(source);
  return result;
}

Peak peak_of(const Report& machine, const Plan& plan) {
  const std::int64_t cores = std::int64_t{plan.workers} * plan.threads;
  double exact = 0, single = 0;
  for (const Metric& metric : machine.metrics) {
    if (metric.name != "cpu.flops.rate" || !metric.value) continue;
    if (param<std::string>(metric, "dtype") != to_string(plan.dtype)) continue;
    const auto on = param<std::int64_t>(metric, "cores");
    if (on == cores) exact = std::max(exact, *metric.value);
    if (on == 1) single = std::max(single, *metric.value);
  }
  const std::string where = " in machine report " + machine.id;
  if (exact > 0) {
    return {.rate = FlopPerSecond(exact),
            .source = "best cpu.flops.rate of " + std::to_string(cores) + " cores" + where};
  }
  if (single > 0) {
    return {.rate = FlopPerSecond(single * static_cast<double>(cores)),
            .source = "best cpu.flops.rate of one core, times " + std::to_string(cores) + where};
  }
  return {.rate = {}, .source = "no cpu.flops.rate of " + to_string(plan.dtype) + where};
}

void add_evaluations(std::vector<Metric>& metrics, const TrainRecord& record, bool tokens) {
  if (record.evaluations.empty() || !is_finite(record.evaluations.back().loss)) return;
  const std::string tested = std::to_string(record.test_samples) + " test samples, each once";
  const std::string each = record.evaluations.size() == 1 ? "" : "; a sample an evaluation";
  const auto add = [&](const char* name, Better better, const std::string& what, auto value_of) {
    Metric metric = plain_metric(name, "1", better, what + tested + each);
    metric.estimator = Estimator::mean;
    metric.value = value_of(record.evaluations.back());
    if (record.evaluations.size() > 1) {
      for (const Evaluation& one : record.evaluations) metric.samples.push_back(value_of(one));
    }
    metrics.push_back(std::move(metric));
  };
  add("train.accuracy", Better::higher, tokens ? "share of positions; " : "",
      [](const Evaluation& one) { return one.accuracy; });
  add("train.test_loss", Better::lower, tokens ? "nats a token; " : "",
      [](const Evaluation& one) { return one.loss; });
  if (!tokens || record.evaluations.back().loss > 700) return;  // exp() would not be finite
  add("train.perplexity", Better::lower, "exp of train.test_loss; ",
      [](const Evaluation& one) { return std::exp(std::min(one.loss, 700.0)); });
}

void add_utilisation(std::vector<Metric>& metrics, const Peak& peak) {
  const auto achieved = std::ranges::find_if(
      metrics, [](const Metric& metric) { return metric.name == "train.flop_rate"; });
  if (achieved == metrics.end()) return;
  Metric metric = plain_metric("train.utilisation", "1", Better::higher,
                               peak.rate ? "train.flop_rate over " + peak.source : "");
  if (!peak.rate || !achieved->value) {
    metric.status = peak.rate ? achieved->status : Status::skipped;
    metric.reason = peak.rate ? achieved->reason : peak.source;
  } else {
    metric.value = *achieved->value / peak.rate->value();
    metric.estimator = Estimator::median;
  }
  metrics.push_back(std::move(metric));
}

void add_operators(std::vector<Metric>& metrics, const TrainRecord& record) {
  const std::string source =
      "after training: all operators of rank 0's share of a batch one after the other, on memory "
      "of their own, other ranks beside it; first pass left out";
  for (const OperatorTime& one : record.operators) {
    std::vector<double> times, rates;
    for (const Seconds time : one.samples) {
      times.push_back(time.value());
      if (time.value() > 0) rates.push_back(one.flop.value() / time.value());
    }
    const Params params = {
        {"operator", one.op}, {"direction", one.direction}, {"kernel", one.kernel}};
    Metric time = from_samples(plain_metric("train.operator.time", "s", Better::lower, source),
                               std::move(times));
    time.params = params;
    metrics.push_back(std::move(time));
    if (one.flop.value() == 0 || rates.empty()) continue;
    Metric rate =
        from_samples(plain_metric("train.operator.flop_rate", "FLOP/s", Better::higher, source),
                     std::move(rates));
    rate.params = params;
    metrics.push_back(std::move(rate));
  }
}

}  // namespace plimsoll::trainer
