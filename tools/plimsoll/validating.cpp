// The blocks of a validation: predicted first, then trained, repeated when the machine moved.

#include "tools/plimsoll/validating.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/system/signals.hpp"
#include "reports/report.hpp"
#include "reports/workload_file.hpp"
#include "tools/plimsoll/envelope.hpp"
#include "tools/plimsoll/judging.hpp"
#include "tools/plimsoll/predicting.hpp"
#include "tools/plimsoll/training.hpp"

namespace plimsoll::tools {
namespace {

using reports::read_stored;
using reports::StoredReport;

constexpr const char* kTimedOut = "validation.timed_out";

Judged as_judged(const StoredReport& stored) { return {&stored.report, stored.reference}; }

struct Cell {
  Plan plan;
  std::string prediction_path;
  StoredReport prediction;
  std::vector<StoredReport> runs;
  int attempts = 0;
  std::string failure;
  bool timed_out = false;  // that was the failure
};

std::vector<Cell> predict_all(const ValidationRequest& request) {
  const std::string directory = request.directory + "/predictions";
  std::filesystem::create_directories(directory);
  std::vector<Cell> cells;
  for (const Plan& plan : request.plans) {
    Cell cell;
    cell.plan = plan;
    cell.prediction_path = directory + "/" + cell_name(plan) + ".json";
    reports::write_report(make_prediction(request.machine_path, plan, request.argv),
                          cell.prediction_path);
    cell.prediction = read_stored(cell.prediction_path);
    cells.push_back(std::move(cell));
  }
  return cells;
}

reports::Job job_for(const ValidationRequest& request, const Cell& cell, int block) {
  const Seconds predicted = std::get<Prediction>(cell.prediction.report.subject).step_time.value;
  reports::Job job;
  job.plan = cell.plan;
  job.workload_text = reports::resolve_workload(cell.plan.workload).text;
  job.steps = std::clamp<std::int64_t>(std::llround(request.block_time / predicted), 10, 1000);
  job.warmup_steps = std::clamp<std::int64_t>(job.steps / 10, 3, 20);
  job.seed = request.seed;
  job.data_dir = request.data_dir;
  job.prediction = cell.prediction_path;
  job.out = request.directory + "/runs/" + cell_name(cell.plan) + "-" + std::to_string(block + 1) +
            ".json";
  job.argv = request.argv;
  return job;
}

// One block: trained until the machine held still, `max_attempts` times at most.
ExitCode train_block(const ValidationRequest& request, Cell& cell, int block) {
  const reports::Job job = job_for(request, cell, block);
  const Seconds predicted = std::get<Prediction>(cell.prediction.report.subject).step_time.value;
  const Seconds limit = request.timeout.value_or(time_limit(job, predicted));
  std::optional<StoredReport> run;
  for (int attempt = 0; attempt < request.max_attempts; ++attempt) {
    ++cell.attempts;
    const ExitCode code = train(job, false, limit);
    if (code != ExitCode::good) return code;
    run = read_stored(job.out);
    if (drift_within(run->report) <= kDriftLimit) break;
  }
  cell.runs.push_back(std::move(*run));
  return ExitCode::good;
}

// Trains every cell once a block, in an order shuffled anew for each block.
bool train_all(const ValidationRequest& request, std::vector<Cell>& cells,
               const Progress& progress) {
  std::filesystem::create_directories(request.directory + "/runs");
  std::mt19937_64 random(static_cast<std::uint64_t>(request.seed));
  std::vector<std::size_t> order(cells.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const double total = static_cast<double>(request.blocks) * static_cast<double>(cells.size());
  double done = 0;
  for (int block = 0; block < request.blocks; ++block) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      Cell& cell = cells[i];
      if (sys::interrupted()) return false;
      progress(cell_name(cell.plan), done / total);
      done += 1;
      if (!cell.failure.empty()) continue;
      const ExitCode code = train_block(request, cell, block);
      if (code == ExitCode::interrupted) return false;
      if (code == ExitCode::timed_out) {
        cell.timed_out = true;
        cell.failure = "the trainer did not end in time and was stopped";
      } else if (code != ExitCode::good) {
        cell.failure = "the trainer ended with exit code " + std::to_string(static_cast<int>(code));
      }
    }
  }
  return true;
}

Finding failed_cell(const Cell& cell) {
  return {.id = cell.timed_out ? kTimedOut : "validation.cell_failed",
          .severity = Severity::error,
          .message = cell_name(cell.plan) + " was not measured: " + cell.failure,
          .effect = "the cell is missing from the table",
          .fix = "run plimsoll train with the same flags to see the message"};
}

// One for all cells: they have the machine report in common.
std::optional<Finding> uncorrected(const std::vector<StoredReport>& runs,
                                   const ReferenceTimes& when_probed) {
  const auto count = std::count_if(runs.begin(), runs.end(), [&](const StoredReport& run) {
    return drift_unknown(reference_times(run.report), when_probed);
  });
  if (count == 0) return std::nullopt;
  return Finding{.id = "validation.drift_unknown",
                 .severity = Severity::warning,
                 .message = std::to_string(count) + " of " + std::to_string(runs.size()) +
                            " runs have no reference loop like those of the machine report: same "
                            "work, same CPUs",
                 .effect = "their errors are not corrected for drift: both figures are the raw one",
                 .fix =
                     "give the machine report too, and probe and train on the same CPUs with "
                     "the same version"};
}

std::string quality_of(const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    for (const StoredReport& run : cell.runs) {
      if (drift_within(run.report) > kDriftLimit) return "noisy";
    }
  }
  return "good";
}

void leave_out(const std::string& path, const std::string& why) {
  std::fprintf(stderr, "plimsoll: %s is left out: %s\n", path.c_str(), why.c_str());
}

// A run that no prediction meets is not judged, and that is said.
void say_unmatched(const std::vector<StoredReport>& predictions,
                   const std::vector<StoredReport>& runs) {
  std::set<std::string> names;
  for (const StoredReport& prediction : predictions) {
    names.insert(cell_name(std::get<Prediction>(prediction.report.subject).plan));
  }
  for (const StoredReport& run : runs) {
    const std::string name = cell_name(std::get<Run>(run.report.subject).plan);
    if (!names.contains(name)) {
      leave_out(run.reference.path, "no prediction of " + name + " was given");
    }
  }
}

}  // namespace

Report validate_suite(const ValidationRequest& request, const Progress& progress) {
  const StoredReport machine = read_stored(request.machine_path);
  const ReferenceTimes when_probed = reference_times(machine.report);
  std::vector<Cell> cells = predict_all(request);
  const bool whole = train_all(request, cells, progress);

  Validation validation{.machine = machine.reference,
                        .rows = {},
                        .drift_rule = kDriftRule,
                        .leakage =
                            "none: the machine report holds generic probes only, and every "
                            "prediction was written before the first run started",
                        .partial = !whole};
  std::vector<Finding> findings;
  std::vector<StoredReport> all_runs;
  for (const Cell& cell : cells) {
    all_runs.insert(all_runs.end(), cell.runs.begin(), cell.runs.end());
    if (!cell.failure.empty()) findings.push_back(failed_cell(cell));
    if (cell.runs.empty()) continue;
    std::vector<Judged> runs;
    for (const StoredReport& run : cell.runs) runs.push_back(as_judged(run));
    ValidationCell row = judge(as_judged(cell.prediction), runs, when_probed);
    row.attempts = cell.attempts;
    validation.rows.push_back(std::move(row));
  }
  if (const auto finding = uncorrected(all_runs, when_probed)) findings.push_back(*finding);
  std::vector<Metric> metrics = validation_metrics(validation, "analytic");
  Report report = envelope(std::move(validation), request.argv, request.seed);
  report.metrics = std::move(metrics);
  report.findings = std::move(findings);
  report.quality.verdict = quality_of(cells);
  reports::write_report(report, request.directory + "/validation.json");
  return report;
}

Report validate_files(const std::vector<std::string>& paths, const std::vector<std::string>& argv) {
  std::vector<StoredReport> predictions, runs;
  ReferenceTimes when_probed;
  ReportRef machine;
  std::set<std::string> ids;
  for (const std::string& path : paths) {
    StoredReport loaded = read_stored(path);
    if (!ids.insert(loaded.report.id).second) {
      leave_out(path, "it is report " + loaded.report.id + " again");
      continue;
    }
    const std::string kind = kind_name(loaded.report.subject);
    if (kind == "prediction") {
      predictions.push_back(std::move(loaded));
    } else if (kind == "run") {
      runs.push_back(std::move(loaded));
    } else if (kind == "machine") {
      if (!machine.id.empty()) {
        throw usage_error("a second machine report", path,
                          "give the one that the runs are to be corrected with");
      }
      when_probed = reference_times(loaded.report);
      machine = loaded.reference;
    } else {
      throw usage_error("a " + kind + " report cannot be judged", path,
                        "give predictions, runs and, for the drift correction, the machine report");
    }
  }
  Validation validation{.machine = machine,
                        .rows = {},
                        .drift_rule = kDriftRule,
                        .leakage = "not known: the reports were made elsewhere"};
  for (const StoredReport& prediction : predictions) {
    const std::string name = cell_name(std::get<Prediction>(prediction.report.subject).plan);
    std::vector<Judged> mine;
    for (const StoredReport& run : runs) {
      if (cell_name(std::get<Run>(run.report.subject).plan) == name) mine.push_back(as_judged(run));
    }
    if (mine.empty()) {
      throw usage_error("no run of " + name + " was given", prediction.reference.path,
                        "train it with plimsoll train and give its report too");
    }
    validation.rows.push_back(judge(as_judged(prediction), mine, when_probed));
  }
  say_unmatched(predictions, runs);
  if (validation.rows.empty()) {
    throw usage_error("no prediction was given", "plimsoll validate",
                      "give at least one prediction and one run of the same plan");
  }
  if (machine.id.empty()) {
    validation.machine = std::get<Prediction>(predictions.front().report.subject).machine;
  }
  std::vector<Metric> metrics = validation_metrics(validation, "analytic");
  Report report = envelope(std::move(validation), argv);
  report.metrics = std::move(metrics);
  if (const auto finding = uncorrected(runs, when_probed)) report.findings.push_back(*finding);
  return report;
}

ExitCode exit_code_of_validation(const Report& report) {
  if (std::get<Validation>(report.subject).partial) return ExitCode::interrupted;
  const bool stopped = std::any_of(report.findings.begin(), report.findings.end(),
                                   [](const Finding& f) { return f.id == kTimedOut; });
  if (stopped) return ExitCode::timed_out;
  const bool failed = std::any_of(report.findings.begin(), report.findings.end(),
                                  [](const Finding& f) { return f.severity == Severity::error; });
  return failed ? ExitCode::partial : ExitCode::good;
}

}  // namespace plimsoll::tools
