// From predictions and runs to a validation.

#include "tools/plimsoll/judging.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/statistics.hpp"

namespace plimsoll::tools {
namespace {

constexpr const char* kLoops[] = {"reference.compute_f32.time", "reference.memory.time"};

const Metric* metric_named(const Report& report, const std::string& name) {
  for (const Metric& metric : report.metrics) {
    if (metric.name == name && metric.value) return &metric;
  }
  return nullptr;
}

void check_pair(const Judged& prediction, const Judged& run) {
  const auto& predicted = std::get<Prediction>(prediction.report->subject);
  const auto& ran = std::get<Run>(run.report->subject);
  if (predicted.plan != ran.plan) {
    throw Error("the run used another plan than the prediction", run.reference.path,
                "judge a prediction with runs of the same flags");
  }
  const std::string& meant = predicted.workload.graph_sha256;
  if (!meant.empty() && !ran.workload.graph_sha256.empty() && meant != ran.workload.graph_sha256) {
    throw Error("the run trained another network than the prediction was made for (" +
                    ran.plan.workload + " has changed)",
                run.reference.path, "predict and train again");
  }
  // Both times are RFC 3339 in UTC with the same digits: text order is time order.
  if (!(prediction.report->created < run.report->created)) {
    throw Error("the prediction was written at " + prediction.report->created +
                    ", the run report at " + run.report->created,
                prediction.reference.path, "predict first, then train");
  }
  if (ran.prediction && ran.prediction->sha256 != prediction.reference.sha256) {
    throw Error("the run was started with another prediction (SHA-256 differs)", run.reference.path,
                "judge it with " + ran.prediction->path);
  }
  if (metric_named(*run.report, "train.step_time") == nullptr) {
    throw Error("the run has no train.step_time", run.reference.path,
                "let it run at least one step after the warm-up");
  }
}

// How much longer each comparable loop took.
std::vector<double> slowdowns(const ReferenceTimes& now, const ReferenceTimes& when_probed) {
  std::vector<double> ratios;
  for (const char* loop : kLoops) {
    const auto before = when_probed.find(loop);
    const auto after = now.find(loop);
    if (before == when_probed.end() || after == now.end()) continue;
    if (before->second.source != after->second.source) continue;
    ratios.push_back(after->second.seconds / before->second.seconds);
  }
  return ratios;
}

double drift_ratio(const ReferenceTimes& now, const ReferenceTimes& when_probed) {
  const std::vector<double> ratios = slowdowns(now, when_probed);
  double product = 1;
  for (const double ratio : ratios) product *= ratio;
  return ratios.empty() ? 1.0 : std::pow(product, 1.0 / static_cast<double>(ratios.size()));
}

// Mean over ranks: what a step of the whole job spends in each phase.
Phases mean_phases(const std::vector<Judged>& runs) {
  Phases mean;
  double ranks = 0;
  for (const Judged& run : runs) {
    for (const RankPhases& rank : std::get<Run>(run.report->subject).ranks) {
      for (const auto& [name, phase] : kNamedPhases) mean.*phase += rank.phases.*phase;
      ranks += 1;
    }
  }
  if (ranks == 0) return mean;
  for (const auto& [name, phase] : kNamedPhases) mean.*phase = mean.*phase / ranks;
  return mean;
}

Metric figure(const std::string& name, double value, const std::string& tier, bool corrected) {
  Metric metric;
  metric.name = "validation." + name;
  metric.params = {{"tier", tier}, {"corrected", corrected}};
  metric.unit = "1";
  metric.better = name == "coverage" ? Better::higher : Better::lower;
  metric.value = value;
  metric.estimator = Estimator::fit;
  return metric;
}

}  // namespace

ReferenceTimes reference_times(const Report& report) {
  ReferenceTimes times;
  for (const char* loop : kLoops) {
    if (const Metric* metric = metric_named(report, loop))
      times[loop] = {*metric->value, metric->source};
  }
  return times;
}

bool drift_unknown(const ReferenceTimes& now, const ReferenceTimes& when_probed) {
  return slowdowns(now, when_probed).empty();
}

double drift_within(const Report& run) {
  double worst = 0;
  for (const char* loop : kLoops) {
    const Metric* metric = metric_named(run, loop);
    if (metric == nullptr || metric->samples.size() < 2) continue;
    worst = std::max(worst, std::abs(metric->samples.back() / metric->samples.front() - 1));
  }
  return worst;
}

ValidationCell judge(const Judged& prediction, const std::vector<Judged>& runs,
                     const ReferenceTimes& when_probed) {
  expects(!runs.empty(), "judge: a cell has at least one run");
  const auto& predicted = std::get<Prediction>(prediction.report->subject);
  ValidationCell cell;
  cell.plan = predicted.plan;
  cell.prediction = prediction.reference;
  cell.predicted = predicted.step_time.value;
  cell.predicted_low = predicted.step_time.low;
  cell.predicted_high = predicted.step_time.high;
  cell.predicted_phases = predicted.phases;
  cell.measured_phases = mean_phases(runs);

  std::vector<double> medians, drifts, lows, highs;
  for (const Judged& run : runs) {
    check_pair(prediction, run);
    cell.runs.push_back(run.reference);
    const Metric& step = *metric_named(*run.report, "train.step_time");
    medians.push_back(*step.value);
    lows.push_back(step.interval ? step.interval->low : *step.value);
    highs.push_back(step.interval ? step.interval->high : *step.value);
    drifts.push_back(drift_ratio(reference_times(*run.report), when_probed));
  }
  cell.measured = Seconds(median(medians));
  cell.measured_low = Seconds(*std::min_element(lows.begin(), lows.end()));
  cell.measured_high = Seconds(*std::max_element(highs.begin(), highs.end()));
  cell.drift_ratio = median(drifts);
  cell.error = cell.predicted / cell.measured - 1;
  cell.corrected_error = cell.predicted / (cell.measured / cell.drift_ratio) - 1;
  cell.inside = cell.predicted_low <= cell.measured && cell.measured <= cell.predicted_high;
  if (medians.size() >= 2) {
    const auto [low, high] = std::minmax_element(medians.begin(), medians.end());
    cell.aa_spread = (*high - *low) / mean(medians);
  }
  return cell;
}

std::vector<Metric> validation_metrics(const Validation& validation, const std::string& tier) {
  std::vector<Metric> metrics;
  if (validation.rows.empty()) return metrics;
  for (const bool corrected : {false, true}) {
    std::vector<double> absolute, signed_errors;
    for (const ValidationCell& cell : validation.rows) {
      const double error = corrected ? cell.corrected_error : cell.error;
      signed_errors.push_back(error);
      absolute.push_back(std::abs(error));
    }
    metrics.push_back(figure("error_median", median(absolute), tier, corrected));
    metrics.push_back(figure("error_p90", quantile(absolute, 0.9), tier, corrected));
    metrics.push_back(
        figure("error_max", *std::max_element(absolute.begin(), absolute.end()), tier, corrected));
    metrics.push_back(figure("bias", mean(signed_errors), tier, corrected));
  }
  double inside = 0;
  for (const ValidationCell& cell : validation.rows) inside += cell.inside ? 1 : 0;
  metrics.push_back(
      figure("coverage", inside / static_cast<double>(validation.rows.size()), tier, false));
  return metrics;
}

}  // namespace plimsoll::tools
