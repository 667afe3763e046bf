// One case on its way: made, calibrated, verified, sampled, verified again, judged.
//
// Every step that goes wrong ends the case with a status and a reason whose first word is its type:
//   not_applicable  the probe said so                          skipped
//   time_limit      --max-time ended before its first sample   skipped
//   interrupted     the user did                               skipped
//   dry_run         nothing was timed on purpose               skipped
//   error           it threw: could not be made or run         failed
//   wrong_answer    verify() found something                   failed
//   unusable_time   its times were not finite and positive     failed
//   range           outside the plausible range                implausible, number kept

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record.hpp"
#include "core/stopping.hpp"
#include "probes/probe.hpp"

namespace plimsoll::probes {

// "kernel.matmul.rate/dtype:f32/k:64": the metric and its parameters in order of their names.
[[nodiscard]] std::string case_name(std::string_view metric, const Params& params);

class CaseRun {
 public:
  CaseRun(const Case& spec, const MetricInfo& info);

  // Makes the subject and finds how many operations fill `sample_time` (0: one operation), which
  // also warms it up. False: the case is over.
  bool prepare(Seconds sample_time);
  // Asks the subject whether its answer is right. False: it is not, or it threw.
  bool verify();
  // Takes one time of `operations()` operations; a useless one is dropped and counted.
  void take(Seconds time, Seconds elapsed, const StoppingRule& rule);
  // Ends the case: last verification, summaries; frees the subject.
  void finish();

  void skip(std::string_view type, const std::string& why);
  void fail(std::string_view type, const std::string& why);

  // Runs the subject once. An exception fails the case and gives no time.
  std::optional<Seconds> run_once();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int group() const { return spec_.group; }
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] bool wants_more() const { return !over_ && !stopped_; }
  [[nodiscard]] std::int64_t operations() const { return operations_; }
  [[nodiscard]] const std::vector<double>& times() const { return times_; }
  [[nodiscard]] std::optional<StopReason> stopped() const { return stopped_; }
  void stop(StopReason reason) { stopped_ = stopped_ ? stopped_ : reason; }

  // What became of it. Valid once over().
  [[nodiscard]] Metric metric() const;

 private:
  [[nodiscard]] double value_of(Seconds time) const;
  void summarise();
  void judge_range();
  void end(Status status, std::string_view type, const std::string& why);

  const Case& spec_;
  const MetricInfo& info_;
  std::string name_;
  std::unique_ptr<Subject> subject_;
  std::int64_t operations_ = 1;
  std::vector<double> times_;  // seconds an operation, of the samples that were kept
  std::optional<Stopping> stopping_;
  std::optional<StopReason> stopped_;
  std::int64_t dropped_ = 0;
  bool over_ = false;
  Metric metric_;
};

}  // namespace plimsoll::probes
