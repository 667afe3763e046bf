// The trainer as a child: job in, run report out, and an end to it in any case.

#include "tools/plimsoll/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "core/system/process.hpp"
#include "reports/workload_file.hpp"
#include "tools/plimsoll/programs.hpp"
#include "tools/plimsoll/scratch.hpp"

namespace plimsoll::tools {
namespace {

constexpr Seconds kBeginAndEnd{120};
constexpr double kPatience = 20;
constexpr FlopPerSecond kSlowCore{5e9};
constexpr BytesPerSecond kSlowMemory{1e9};

// Three times the forward pass, and five passes over the parameters with their gradients.
Seconds slow_step(const Workload& workload, const Plan& plan) {
  Flop forward;
  for (const Op& op : workload.graph.ops) {
    forward += cost_of(workload.graph, op, Direction::forward, plan.batch, plan.dtype).flop;
  }
  const Bytes parameters(4.0 * static_cast<double>(parameter_count(workload.graph)));
  return 3.0 * forward / kSlowCore + 5.0 * parameters * plan.workers / kSlowMemory;
}

// No fewer than the training set has: more only makes the limit more generous.
double samples_of(const Workload& workload, std::string data_dir) {
  constexpr double kUsual = 60'000, kMostCompressed = 20;
  constexpr std::string_view kMadeUp = "synthetic:";
  if (data_dir.starts_with(kMadeUp)) {
    return std::strtod(data_dir.c_str() + kMadeUp.size(), nullptr);
  }
  if (const char* place = std::getenv("PLIMSOLL_DATA"); data_dir.empty() && place != nullptr) {
    data_dir = place;
  }
  double bytes = 0;
  std::error_code unreadable;  // then the trainer will tell
  if (std::filesystem::is_regular_file(data_dir, unreadable)) {
    bytes = static_cast<double>(std::filesystem::file_size(data_dir, unreadable));
  }
  for (const auto& entry : std::filesystem::directory_iterator(data_dir, unreadable)) {
    if (entry.is_regular_file()) bytes += static_cast<double>(entry.file_size());
  }
  const auto sample = static_cast<double>(elements(workload.sample_shape));
  return std::max(kUsual, kMostCompressed * bytes / sample);
}

}  // namespace

Seconds time_limit(const reports::Job& job, std::optional<Seconds> step) {
  const Workload workload = reports::workload_of(job.plan.workload, job.workload_text);
  const auto batch = static_cast<double>(job.plan.batch);
  const double epoch = samples_of(workload, job.data_dir) / batch + 1;
  double steps = static_cast<double>(job.warmup_steps + job.steps);
  steps += epoch * static_cast<double>(job.epochs);
  double evaluations = job.evaluate || job.evaluate_every > 0 ? 1 : 0;
  if (job.evaluate_every > 0) evaluations += steps / static_cast<double>(job.evaluate_every);
  steps += epoch * evaluations;
  return kBeginAndEnd + kPatience * steps * step.value_or(slow_step(workload, job.plan));
}

ExitCode train(const reports::Job& job, bool show, Seconds limit) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path() + "/job.json";
  reports::write_text(reports::job_to_json(job), path);
  sys::ChildOptions options{.argv = {program("plimsoll-trainer"), "--job", path}};
  options.capture_out = true;  // the report goes to a file: nothing of it belongs on stdout
  options.capture_err = !show;
  options.timeout = limit;
  const sys::ChildResult result = sys::run_child(options);
  if (result.exit_code != 0 && !show) std::fputs(result.err.c_str(), stderr);
  if (result.interrupted) return ExitCode::interrupted;
  if (result.timed_out) {
    const Error error(
        fmt::format("training did not end within {:g} s and was stopped after {:.1f} s",
                    limit.value(), result.duration.value()),
        "plimsoll-trainer, " + job.plan.workload + ", batch " + std::to_string(job.plan.batch),
        "look for what holds this machine, ask for fewer steps, or give it more "
        "time with --timeout",
        ExitCode::timed_out);
    std::fprintf(stderr, "plimsoll: %s\n", error.what());
    return error.exit_code();
  }
  if (result.signal != 0) {
    throw Error("the trainer was ended by signal " + std::to_string(result.signal),
                "plimsoll-trainer", "look for an out-of-memory kill; please report a crash");
  }
  return static_cast<ExitCode>(result.exit_code);
}

ExitCode check_training(reports::Job job) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path() + "/job.json";
  job.out = scratch.path() + "/run.json";
  reports::write_text(reports::job_to_json(job), path);
  sys::ChildOptions options{.argv = {program("plimsoll-trainer"), "--check", path}};
  options.capture_out = options.capture_err = true;
  options.timeout = kBeginAndEnd;
  const sys::ChildResult result = sys::run_child(options);
  std::fputs(result.err.c_str(), stderr);
  if (result.interrupted) return ExitCode::interrupted;
  if (result.signal != 0) {
    throw Error("the trainer was ended by signal " + std::to_string(result.signal),
                "plimsoll-trainer --check", "please report a crash");
  }
  return static_cast<ExitCode>(result.exit_code);
}

}  // namespace plimsoll::tools
