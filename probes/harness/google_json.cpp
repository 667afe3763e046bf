// Feeds our samples to Google Benchmark's JSONReporter as finished runs.

#include "probes/harness/google_json.hpp"

#include <benchmark/benchmark.h>

#include <sstream>
#include <vector>

#include "core/statistics.hpp"

namespace plimsoll::probes {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

Run blank(const Measured::Times& times, std::int64_t index) {
  Run run;
  run.run_name.function_name = times.name;
  run.family_index = index;
  run.per_family_instance_index = 0;
  run.repetition_index = 0;
  run.repetitions = std::max<std::int64_t>(std::ssize(times.seconds), 1);
  run.time_unit = benchmark::kNanosecond;
  run.statistics = nullptr;
  return run;
}

Run sample_run(const Measured::Times& times, std::int64_t index, std::int64_t repetition,
               const Metric& metric) {
  Run run = blank(times, index);
  const auto at = static_cast<std::size_t>(repetition);
  run.run_type = Run::RT_Iteration;
  run.repetition_index = repetition;
  run.iterations = times.operations;
  run.real_accumulated_time = times.seconds[at] * static_cast<double>(times.operations);
  run.cpu_accumulated_time = run.real_accumulated_time;
  if (metric.unit == "B/s") run.counters["bytes_per_second"] = metric.samples[at];
  if (metric.unit == "FLOP/s") run.counters["flop_per_second"] = metric.samples[at];
  return run;
}

Run aggregate_run(const Measured::Times& times, std::int64_t index, const char* name, double value,
                  bool relative) {
  Run run = blank(times, index);
  run.run_type = Run::RT_Aggregate;
  run.repetition_index = Run::no_repetition_index;
  run.aggregate_name = name;
  run.aggregate_unit =
      relative ? benchmark::StatisticUnit::kPercentage : benchmark::StatisticUnit::kTime;
  run.iterations = 1;
  run.real_accumulated_time = run.cpu_accumulated_time = value;
  return run;
}

std::vector<Run> runs_of(const Measured::Times& times, std::int64_t index, const Metric& metric,
                         bool aggregates_only) {
  std::vector<Run> runs;
  if (!metric.value) {
    Run run = blank(times, index);
    run.run_type = Run::RT_Iteration;
    run.error_occurred = true;
    run.error_message =
        (metric.status == Status::failed ? "failed: " : "skipped: ") + metric.reason;
    return {run};
  }
  const std::int64_t count = std::ssize(times.seconds);
  if (!aggregates_only || count == 1) {
    for (std::int64_t i = 0; i < count; ++i) runs.push_back(sample_run(times, index, i, metric));
  }
  if (const auto deviation = standard_deviation(times.seconds)) {
    const double average = mean(times.seconds);
    runs.push_back(aggregate_run(times, index, "mean", average, false));
    runs.push_back(aggregate_run(times, index, "median", median(times.seconds), false));
    runs.push_back(aggregate_run(times, index, "stddev", *deviation, false));
    runs.push_back(aggregate_run(times, index, "cv", *deviation / average, true));
  }
  return runs;
}

// Debian's library says "debug" of itself, whatever the program is.
void state_build_type(std::string& json, const std::string& build_type) {
  const std::string key = "\"library_build_type\": \"";
  const std::size_t at = json.find(key);
  if (at == std::string::npos) return;
  const std::size_t begin = at + key.size();
  const bool optimised = build_type == "Release" || build_type == "RelWithDebInfo";
  json.replace(begin, json.find('"', begin) - begin, optimised ? "release" : "debug");
}

}  // namespace

std::string google_json(const Measured& measured, const Tool& tool, const HarnessOptions& options) {
  benchmark::AddCustomContext("plimsoll_version", tool.version);
  for (const auto& [key, value] : options.context) benchmark::AddCustomContext(key, value);
  std::ostringstream out;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&out);
  reporter.SetErrorStream(&out);
  reporter.ReportContext({});
  for (std::size_t i = 0; i < measured.cases.size(); ++i) {
    reporter.ReportRuns(runs_of(measured.times[i], static_cast<std::int64_t>(i), measured.cases[i],
                                options.aggregates_only));
  }
  reporter.Finalize();
  std::string json = out.str();
  state_build_type(json, tool.build_type);
  return json;
}

}  // namespace plimsoll::probes
