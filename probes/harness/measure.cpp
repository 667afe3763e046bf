// Groups one after the other, so that their buffers do not add up; each gets its share of the time
// that is left.

#include "probes/harness/measure.hpp"

#include <cstdio>
#include <map>
#include <optional>

#include "core/error.hpp"
#include "core/system/clock.hpp"
#include "core/system/reference_loops.hpp"
#include "core/system/signals.hpp"
#include "core/system/terminal.hpp"
#include "probes/harness/effort.hpp"
#include "probes/harness/rounds.hpp"

namespace plimsoll::probes {
namespace {

constexpr Seconds kBetweenReferences{4.0};   // closer together they would eat the time
constexpr Seconds kLeastForReferences{3.0};  // a shorter --max-time is for the cases alone

// The reference loops, sampled now and then. A machine that cannot run them still gets measured.
class References {
 public:
  References(const HarnessOptions& options, std::vector<Finding>& findings) : findings_(findings) {
    if (options.dry_run) return;
    if (options.max_time && *options.max_time < kLeastForReferences) return;
    try {
      loops_.emplace();
    } catch (const Error& error) {
      give_up(error);
    }
  }

  void sample() {
    if (!loops_ || sys::interrupted()) return;
    try {
      samples_.push_back(loops_->sample());
      last_ = sys::now();
    } catch (const Error& error) {
      give_up(error);
    }
  }
  void sample_if_due() {
    if (sys::now() - last_ > kBetweenReferences) sample();
  }
  [[nodiscard]] std::vector<Metric> metrics() const {
    return samples_.empty() ? std::vector<Metric>{} : sys::reference_metrics(samples_);
  }

 private:
  void give_up(const Error& error) {
    loops_.reset();
    findings_.push_back({.id = "probe.reference",
                         .severity = Severity::warning,
                         .message = "the reference loops could not run: " + error.problem(),
                         .effect = "drift of this machine between reports cannot be told",
                         .fix = error.fix()});
  }

  std::optional<sys::ReferenceLoops> loops_;
  std::vector<std::vector<sys::ReferenceTime>> samples_;
  std::vector<Finding>& findings_;
  Seconds last_;
};

void show_progress(std::size_t done, std::size_t all) {
  if (!sys::progress_wanted()) return;
  std::fprintf(stderr, "\r%zu of %zu cases%s", done, all, done == all ? "\r\033[K" : "");
  std::fflush(stderr);
}

void measure_group(const std::vector<CaseRun*>& group, const Effort& effort, const GroupTime& time,
                   std::uint64_t seed) {
  for (CaseRun* run : group) {
    if (time.out_of_time()) break;
    if (run->prepare(effort.sample_time)) run->verify();
  }
  run_rounds(group, effort, time, seed);
  for (CaseRun* run : group) {
    if (!run->over() && run->times().empty() && time.out_of_time()) {
      run->skip(sys::interrupted() ? "interrupted" : "time_limit", "ended before its first sample");
    }
    run->finish();
  }
}

bool cut_short(const CaseRun& run, bool by_user) {
  if (run.metric().reason.starts_with("time_limit")) return true;
  return by_user && run.stopped() == StopReason::time_out;
}

}  // namespace

Measured measure(const std::vector<Case>& cases, const ProbeInfo& info,
                 const HarnessOptions& options) {
  Measured measured;
  const Seconds begin = sys::now();
  const Effort effort = effort_of(options, cases.size());
  const auto out_of_time = [&] {
    return sys::interrupted() || (options.max_time && sys::now() - begin > *options.max_time);
  };
  References references(options, measured.findings);
  std::vector<CaseRun> runs;
  runs.reserve(cases.size());
  for (const Case& one : cases) runs.emplace_back(one, info.metrics.at(one.metric));
  std::map<int, std::vector<CaseRun*>> groups;
  for (CaseRun& run : runs) groups[run.group()].push_back(&run);

  references.sample();
  std::size_t done = 0;
  std::uint64_t seed = options.seed;
  for (const auto& [number, group] : groups) {
    references.sample_if_due();
    const double share =
        static_cast<double>(group.size()) / static_cast<double>(runs.size() - done);
    const Seconds left = begin + effort.budget - sys::now();
    measure_group(group, effort,
                  {.budget = std::max(left * share, Seconds(0)), .out_of_time = out_of_time},
                  seed++);
    done += group.size();
    show_progress(done, runs.size());
  }
  if (!out_of_time()) references.sample();

  measured.interrupted = sys::interrupted();
  for (const CaseRun& run : runs) {
    measured.cases.push_back(run.metric());
    measured.times.push_back(
        {.name = run.name(), .operations = run.operations(), .seconds = run.times()});
    if (cut_short(run, options.max_time == effort.budget)) measured.out_of_time = true;
  }
  measured.references = references.metrics();
  measured.duration = sys::now() - begin;
  return measured;
}

}  // namespace plimsoll::probes
