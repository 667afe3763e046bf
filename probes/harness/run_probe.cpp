// run_probe(): the main() of every probe binary, from its command line to its exit code.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "probes/harness/case_run.hpp"
#include "probes/harness/interrupt.hpp"
#include "probes/harness/options.hpp"
#include "probes/harness/rounds.hpp"
#include "probes/probe.hpp"

namespace plimsoll::probes {
namespace {

using Clock = std::chrono::steady_clock;

Seconds since(Clock::time_point begin) {
  return Seconds(std::chrono::duration<double>(Clock::now() - begin).count());
}

Effort effort_of(const HarnessOptions& options) {
  Effort effort;
  switch (options.probe.level) {
    case Level::quick:
      effort = {.sample_time = Seconds(2e-3), .budget = Seconds(2.5)};
      effort.rule = {.noise_target = 0.03, .min_samples = 6, .max_samples = 20, .window = 6};
      break;
    case Level::standard:
      effort = {.sample_time = Seconds(5e-3), .budget = Seconds(11)};
      effort.rule = {.noise_target = 0.02, .min_samples = 9, .max_samples = 100};
      break;
    case Level::full:
      effort = {.sample_time = Seconds(1e-2), .budget = Seconds(60)};
      effort.rule = {.noise_target = 0.01, .min_samples = 15, .max_samples = 300};
      break;
  }
  if (options.max_time) effort.budget = std::min(effort.budget, *options.max_time);
  if (options.sample_time) effort.sample_time = *options.sample_time;
  if (options.repetitions) {
    effort.rule.noise_target = 0;
    effort.rule.window = *options.repetitions;
    effort.rule.min_samples = effort.rule.max_samples = *options.repetitions;
    effort.budget = Seconds(3600);
  }
  return effort;
}

void measure_group(const std::vector<CaseRun*>& group, const Effort& effort, Seconds share,
                   const std::function<bool()>& out_of_time, std::uint64_t seed) {
  for (CaseRun* run : group) {
    if (out_of_time()) break;
    if (run->prepare(effort.sample_time)) run->verify();
  }
  run_rounds(group, effort, {.budget = share, .out_of_time = out_of_time}, seed);
  for (CaseRun* run : group) {
    if (!run->over() && run->times().empty() && out_of_time()) {
      run->skip(interrupted() ? "interrupted" : "time_limit", "ended before its first sample");
    }
    run->finish();
  }
}

}  // namespace

int run_probe(int argc, char** argv, const ProbeInfo& info, CaseList list) {
  try {
    const HarnessOptions options = parse_options({argv + 1, argv + argc});
    const auto begin = Clock::now();
    listen_for_interrupts();
    const std::vector<Case> cases = list(options.probe);
    std::vector<CaseRun> runs;
    runs.reserve(cases.size());
    for (const Case& one : cases) runs.emplace_back(one, info.metrics.at(one.metric));
    const Effort effort = effort_of(options);
    std::map<int, std::vector<CaseRun*>> groups;
    for (CaseRun& run : runs) groups[run.group()].push_back(&run);
    for (auto& [number, group] : groups) {
      measure_group(
          group, effort, effort.budget / static_cast<double>(groups.size()),
          [&] { return interrupted() || (options.max_time && since(begin) > *options.max_time); },
          options.seed);
    }
    for (const CaseRun& run : runs) {
      const Metric metric = run.metric();
      std::printf("%-80s %12.5g %s %s\n", run.name().c_str(), metric.value.value_or(0),
                  metric.unit.c_str(), metric.reason.c_str());
    }
    return static_cast<int>(ExitCode::good);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", std::string(info.id).c_str(), error.what());
    return static_cast<int>(error.exit_code());
  }
}

}  // namespace plimsoll::probes
