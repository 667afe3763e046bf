// What of a run becomes which metric, and what spoils it.
//
// Rates and times come from the measured steps with a whole batch only: warm-up steps and the short
// last batch of an epoch are left out, and the metric's source says how many. A run that diverged
// publishes no speed at all.

#include "trainer/run_report.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/statistics.hpp"
#include "core/system/provenance.hpp"
#include "reports/workload_file.hpp"

namespace plimsoll::trainer {
namespace {

constexpr double kMostSteal = 0.02;  // of CPU time taken by the hypervisor
constexpr double kMostLoad = 0.5;    // runnable threads per CPU before the run
constexpr double kMostNoise = 0.10;  // median absolute deviation of step times / median
constexpr double kMostDrift = 0.10;  // of a reference loop, after / before - 1

// The measured steps that had a whole batch.
struct Measured {
  std::vector<double> times, sample_rates, flop_rates;  // one a step
  std::int64_t left_out = 0;                            // steps with a short batch
};

Measured measured_steps(const TrainRecord& record, std::int64_t batch) {
  Flop flop;
  for (const RankRecord& rank : record.ranks) flop += rank.flop;
  Measured result;
  for (std::size_t i = 0; i < record.step_times.size(); ++i) {
    const double time = record.step_times[i].value();
    const std::size_t step = static_cast<std::size_t>(record.warmup_steps) + i;
    if (step >= record.samples.size() || record.samples[step] != batch || time <= 0) {
      ++result.left_out;
      continue;
    }
    result.times.push_back(time);
    result.sample_rates.push_back(static_cast<double>(batch) / time);
    result.flop_rates.push_back(flop.value() / time);
  }
  return result;
}

Metric metric(std::string name, std::string unit, Better better, std::string source) {
  return plain_metric(std::move(name), std::move(unit), better, std::move(source));
}

Metric with_value(Metric result, double value, Estimator estimator = Estimator::mean) {
  result.value = value;
  result.estimator = estimator;
  return result;
}

// Median with interval, or a reason why there is no number.
Metric with_samples(Metric result, std::vector<double> samples, const TrainRecord& record) {
  if (record.diverged) {
    result.status = Status::failed;
    result.reason =
        "diverged: " + record.diverged->problem() + " (" + record.diverged->where() + ")";
    return result;
  }
  if (samples.empty()) {
    result.status = Status::skipped;
    result.reason = "no step with a whole batch was measured";
    return result;
  }
  const Summary summary = summarize(samples);
  result.value = summary.median;
  result.estimator = Estimator::median;
  if (samples.size() > 1) result.interval = median_interval(samples);  // of one there is none
  result.summary = summary_fields(summary);
  result.summary["mean"] = mean(samples);  // what the phases, which are means, add up to
  result.samples = std::move(samples);
  return result;
}

std::string excluded(const TrainRecord& record, const Measured& measured) {
  std::string text = std::to_string(record.warmup_steps) + " warm-up steps left out";
  if (measured.left_out > 0) {
    text += ", and " + std::to_string(measured.left_out) + " with a short batch";
  }
  return text;
}

void add_phases(std::vector<Metric>& metrics, const TrainRecord& record) {
  Seconds step;
  for (const RankRecord& rank : record.ranks) step += rank.step_time;
  if (step == Seconds(0)) return;  // no step with a whole batch
  const std::string source =
      "mean over ranks and over the steps of train.step_time, whose value is their median; all "
      "phases together are the mean step of a rank";
  for (const auto& [name, phase] : kNamedPhases) {
    double sum = 0;
    for (const RankRecord& rank : record.ranks) sum += (rank.phases.*phase).value();
    metrics.push_back(
        with_value(metric(std::string("train.phase.") + name, "s", Better::lower, source),
                   sum / static_cast<double>(record.ranks.size())));
  }
}

std::vector<Metric> metrics_of(const TrainOptions& options, const TrainRecord& record,
                               const Measured& measured, const Surroundings& surroundings,
                               bool tokens) {
  const std::string source = record.backend + "; " + excluded(record, measured);
  std::vector<Metric> metrics;
  metrics.push_back(
      with_samples(metric("train.step_time", "s", Better::lower, source), measured.times, record));
  metrics.push_back(with_samples(
      metric("train.sample_rate", "1/s", Better::higher, "all ranks together; " + source),
      measured.sample_rates, record));
  metrics.push_back(with_samples(metric("train.flop_rate", "FLOP/s", Better::higher,
                                        "counted by the kernels of all ranks; " + source),
                                 measured.flop_rates, record));
  if (!record.losses.empty()) {
    Metric loss = with_value(metric("train.loss", "1", Better::lower,
                                    "mean over the global batch; value: the last step"),
                             record.losses.back());
    loss.samples = record.losses;
    metrics.push_back(std::move(loss));
  }
  add_evaluations(metrics, record, tokens);
  add_utilisation(metrics, surroundings.peak);
  if (tokens) {
    std::vector<double> rates = measured.sample_rates;
    for (double& rate : rates) rate *= static_cast<double>(record.positions);
    metrics.push_back(with_samples(
        metric("train.token_rate", "1/s", Better::higher, "all ranks together; " + source),
        std::move(rates), record));
  }
  metrics.push_back(
      with_value(metric("train.peak_memory", "B", Better::lower,
                        "resident set of the process: data set and buffers of the reference "
                        "loops included"),
                 record.peak_resident.value()));
  if (!record.losses.empty()) {
    std::int64_t bytes = 0;
    for (const RankRecord& rank : record.ranks) bytes += rank.bytes_sent;
    metrics.push_back(
        with_value(metric("train.bytes_sent", "B", Better::lower, "mean over ranks and all steps"),
                   static_cast<double>(bytes) /
                       static_cast<double>(std::ssize(record.losses) * options.plan.workers)));
  }
  if (!record.diverged && !record.step_times.empty()) add_phases(metrics, record);
  add_operators(metrics, record);
  for (Metric& reference : sys::reference_metrics(surroundings.references)) {
    metrics.push_back(std::move(reference));
  }
  return metrics;
}

// The largest |after / before - 1| of the reference loops.
std::optional<double> drift(const Surroundings& surroundings) {
  if (surroundings.references.size() < 2) return std::nullopt;
  const auto& before = surroundings.references.front();
  const auto& after = surroundings.references.back();
  double worst = 0;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (!before[i].time.value || !after[i].time.value) continue;
    worst = std::max(worst, std::abs(*after[i].time.value / *before[i].time.value - 1.0));
  }
  return worst;
}

Quality quality_of(const TrainRecord& record, const Measured& measured,
                   const Surroundings& surroundings) {
  Quality quality;
  const auto indicate = [&](const char* id, double value, double most) {
    quality.indicators.push_back({.id = id, .value = value, .ok = value <= most});
  };
  if (surroundings.steal_ratio) indicate("cpu.steal", *surroundings.steal_ratio, kMostSteal);
  indicate("cpu.load", surroundings.load_before, kMostLoad);
  if (!measured.times.empty()) {
    indicate("train.step_noise", median_absolute_deviation(measured.times) / median(measured.times),
             kMostNoise);
  }
  if (const auto moved = drift(surroundings)) indicate("reference.drift", *moved, kMostDrift);
  const bool quiet = std::all_of(quality.indicators.begin(), quality.indicators.end(),
                                 [](const Indicator& indicator) { return indicator.ok; });
  quality.verdict = record.diverged ? "invalid" : quiet ? "good" : "noisy";
  return quality;
}

std::string join(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t n : numbers) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return text;
}

std::vector<Finding> findings_of(const TrainOptions& options, const TrainRecord& record,
                                 const Surroundings& surroundings) {
  std::vector<Finding> findings = surroundings.findings;
  findings.insert(findings.end(), record.findings.begin(), record.findings.end());
  if (record.diverged) {
    findings.push_back({.id = "train.diverged",
                        .severity = Severity::error,
                        .message = record.diverged->problem() + ", " + record.diverged->where(),
                        .effect = "all ranks stopped there; no speed is published",
                        .fix = record.diverged->fix()});
  }
  if (record.interrupted) {
    findings.push_back({.id = "train.interrupted",
                        .severity = Severity::warning,
                        .message = "stopped after " +
                                   std::to_string(record.first_step + std::ssize(record.losses)) +
                                   " of " + std::to_string(record.planned_steps) + " steps",
                        .effect = "fewer samples, no accuracy",
                        .fix = "let it end"});
  }
  if (record.trace_cut) {
    findings.push_back({.id = "train.trace_cut",
                        .severity = Severity::info,
                        .message = "the timeline ends before the run does",
                        .effect = "later steps are not in it",
                        .fix = "trace fewer steps"});
  }
  const Plan& plan = options.plan;
  if (plan.batch % plan.workers != 0) {
    findings.push_back({.id = "train.uneven_shares",
                        .severity = Severity::info,
                        .message = "batch " + std::to_string(plan.batch) + " over " +
                                   std::to_string(plan.workers) + " workers is " +
                                   join(shares(plan.batch, plan.workers)),
                        .effect = "the largest share sets the time of a step",
                        .fix = "use a batch that the workers divide"});
  }
  return findings;
}

}  // namespace

Report run_report(const reports::Job& job, const Workload& workload, const TrainOptions& options,
                  const TrainRecord& record, const Surroundings& surroundings) {
  Run run;
  Flop flop;
  for (const RankRecord& rank : record.ranks) flop += rank.flop;
  run.workload = {.name = workload.name,
                  .parameters = parameter_count(workload.graph),
                  .flop_per_step = flop,
                  .dataset = workload.dataset,
                  .graph_sha256 = reports::graph_sha256(workload.graph)};
  run.plan = options.plan;
  run.steps = std::ssize(record.step_times);
  run.warmup_steps = record.warmup_steps;
  run.epochs = options.epochs;
  run.seed = job.seed;
  run.learning_rate = options.learning_rate;
  run.momentum = options.momentum;
  run.optimizer = optimizer_of(options.plan, workload).name;
  run.update = options.rule;
  run.resumed = record.resumed;
  run.backend = record.backend;
  run.implementations = record.implementations;
  for (std::size_t r = 0; r < record.ranks.size(); ++r) {
    run.ranks.push_back({.rank = static_cast<int>(r),
                         .cpus = sys::format_cpulist(record.ranks[r].cpus),
                         .phases = record.ranks[r].phases});
  }
  if (!job.prediction.empty()) run.prediction = reports::reference_to(job.prediction);
  run.partial = record.interrupted || record.diverged.has_value();

  const Measured measured = measured_steps(record, options.plan.batch);
  Report report;
  report.id = reports::new_id();
  report.created = reports::now_rfc3339();
  report.tool = sys::describe_tool();
  report.command = sys::describe_command(job.argv, job.seed);
  report.environment = sys::describe_environment(sys::fs_root(), backend_libraries());
  report.quality = quality_of(record, measured, surroundings);
  const Graph& graph = workload.graph;
  const bool tokens = graph.tensors[static_cast<std::size_t>(graph.input)].tokens;
  report.metrics = metrics_of(options, record, measured, surroundings, tokens);
  report.findings = findings_of(options, record, surroundings);
  report.subject = std::move(run);
  return report;
}

}  // namespace plimsoll::trainer
