// Rounds through Google Benchmark. Each round registers the cases that want more in a new order
// (one iteration, time given by hand) and lets the library run them; our reporter takes the times.

#include "probes/harness/rounds.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "core/system/clock.hpp"

namespace plimsoll::probes {
namespace {

// Collects the time that each benchmark reported, by name.
class SampleReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      times_[run.run_name.function_name] = Seconds(run.real_accumulated_time);
    }
  }
  [[nodiscard]] std::map<std::string, Seconds> take() { return std::exchange(times_, {}); }

 private:
  std::map<std::string, Seconds> times_;
};

void one_sample(benchmark::State& state, CaseRun& run, const std::function<bool()>& out_of_time) {
  for ([[maybe_unused]] auto iteration : state) {
    if (out_of_time()) {
      state.SkipWithError("out of time");
      break;
    }
    const std::optional<Seconds> time = run.run_once();
    if (!time) {
      state.SkipWithError("failed");
      break;
    }
    state.SetIterationTime(time->value());
  }
}

std::map<std::string, Seconds> one_round(const std::vector<CaseRun*>& order,
                                         const std::function<bool()>& out_of_time) {
  benchmark::ClearRegisteredBenchmarks();
  for (CaseRun* run : order) {
    benchmark::RegisterBenchmark(
        run->name().c_str(),
        [run, &out_of_time](benchmark::State& state) { one_sample(state, *run, out_of_time); })
        ->Iterations(1)
        ->UseManualTime();
  }
  SampleReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter, ".");
  benchmark::ClearRegisteredBenchmarks();
  return reporter.take();
}

}  // namespace

void run_rounds(const std::vector<CaseRun*>& cases, const Effort& effort, const GroupTime& time,
                std::uint64_t seed) {
  const Seconds begin = sys::now();
  std::mt19937_64 random(seed);
  StoppingRule rule = effort.rule;
  // Not zero: until there are enough rounds, time counts as not begun.
  rule.max_time = std::max(time.budget, Seconds(1e-9));
  for (std::int64_t round = effort.warm_up ? 0 : 1;; ++round) {
    std::vector<CaseRun*> order;
    std::ranges::copy_if(cases, std::back_inserter(order), &CaseRun::wants_more);
    if (order.empty() || time.out_of_time()) break;
    std::ranges::shuffle(order, random);
    const std::map<std::string, Seconds> times = one_round(order, time.out_of_time);
    if (round == 0) continue;
    // Time is up only once there are enough rounds for an interval.
    const Seconds elapsed = round < effort.least_rounds ? Seconds(0) : sys::now() - begin;
    for (CaseRun* run : order) {
      const auto found = times.find(run->name());
      if (found != times.end() && !run->over()) run->take(found->second, elapsed, rule);
    }
  }
  for (CaseRun* run : cases) {
    if (run->wants_more() && !run->times().empty()) run->stop(StopReason::time_out);
  }
}

}  // namespace plimsoll::probes
