// Collects predicted and measured steps from validations, or from predictions and runs.

#include "reports/page/steps.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "reports/format/html_text.hpp"
#include "reports/page/spec.hpp"

namespace plimsoll::reports {
namespace {

std::vector<ComparedStep> of_validations(const Reports& reports) {
  std::vector<ComparedStep> out;
  for (const Report& report : reports) {
    const auto* validation = std::get_if<Validation>(&report.subject);
    if (validation == nullptr) continue;
    for (const ValidationCell& cell : validation->rows) {
      ComparedStep step;
      step.plan = cell.plan;
      step.predicted =
          StepSide{cell.predicted, cell.predicted_low, cell.predicted_high, cell.predicted_phases};
      step.measured =
          StepSide{cell.measured, cell.measured_low, cell.measured_high, cell.measured_phases};
      step.cell = &cell;
      out.push_back(std::move(step));
    }
  }
  return out;
}

std::optional<StepSide> side_of(const Report& report, const Run& run) {
  for (const Metric& metric : report.metrics) {
    if (metric.name != "train.step_time" || !metric.value || !std::isfinite(*metric.value))
      continue;
    StepSide side;
    side.time = Seconds(*metric.value);
    side.low = Seconds(metric.interval ? metric.interval->low : *metric.value);
    side.high = Seconds(metric.interval ? metric.interval->high : *metric.value);
    for (const RankPhases& rank : run.ranks) {
      for (const auto& [name, phase] : kNamedPhases) {
        side.phases.*phase += rank.phases.*phase / static_cast<double>(run.ranks.size());
      }
    }
    return side;
  }
  return std::nullopt;
}

std::vector<ComparedStep> of_pairs(const Reports& reports) {
  std::vector<ComparedStep> out;
  std::map<std::string, std::size_t> by_prediction;
  for (const Report& report : reports) {
    const auto* prediction = std::get_if<Prediction>(&report.subject);
    if (prediction == nullptr) continue;
    ComparedStep step;
    step.plan = prediction->plan;
    const Estimate<Seconds>& time = prediction->step_time;
    step.predicted = StepSide{time.value, time.low, time.high, prediction->phases};
    by_prediction[report.id] = out.size();
    out.push_back(std::move(step));
  }
  for (const Report& report : reports) {
    const auto* run = std::get_if<Run>(&report.subject);
    if (run == nullptr) continue;
    std::optional<StepSide> side = side_of(report, *run);
    if (!side) continue;
    const auto found =
        run->prediction ? by_prediction.find(run->prediction->id) : by_prediction.end();
    if (found != by_prediction.end() && !out[found->second].measured) {
      out[found->second].measured = side;
      continue;
    }
    ComparedStep step;
    step.plan = run->plan;
    step.measured = side;
    out.push_back(std::move(step));
  }
  return out;
}

}  // namespace

bool before(const Plan& a, const Plan& b, const std::vector<std::string>& workloads) {
  const auto key = [&](const Plan& plan) {
    const auto place = std::find(workloads.begin(), workloads.end(), plan.workload);
    return std::tuple(place - workloads.begin(), plan.batch, plan.workers, plan.threads);
  };
  return key(a) < key(b);
}

std::vector<std::string> unique_labels(std::vector<std::string> labels) {
  std::map<std::string, int> total, seen;
  for (const std::string& label : labels) ++total[label];
  for (std::string& label : labels) {
    if (total[label] > 1) {
      const int number = ++seen[label];
      label += " #" + std::to_string(number);
    }
  }
  return labels;
}

std::vector<ComparedStep> compared_steps(const Reports& reports) {
  std::vector<ComparedStep> steps = of_validations(reports);
  if (steps.empty()) steps = of_pairs(reports);
  std::vector<std::string> labels, workloads;
  for (const ComparedStep& step : steps) add_once(workloads, step.plan.workload);
  std::stable_sort(steps.begin(), steps.end(), [&](const ComparedStep& a, const ComparedStep& b) {
    return before(a.plan, b.plan, workloads);
  });
  for (const ComparedStep& step : steps) labels.push_back(plan_label(step.plan));
  labels = unique_labels(std::move(labels));
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].label = labels[i];
  return steps;
}

}  // namespace plimsoll::reports
