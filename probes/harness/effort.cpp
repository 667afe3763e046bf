// The budgets are such that all probes together fit quick runs of a minute and default runs of
// three.

#include "probes/harness/effort.hpp"

#include <algorithm>

namespace plimsoll::probes {
namespace {

constexpr Seconds kShortestSample{1e-3};
constexpr double kRunsBeforeSamples = 3;  // calibration and warm-up
constexpr Seconds kUnlimited{3600};       // an exact count of samples was asked for

Effort of_level(Level level) {
  Effort effort;
  switch (level) {
    case Level::quick:
      effort.sample_time = Seconds(2e-3);
      effort.budget = Seconds(2.5);
      effort.rule = {.noise_target = 0.03, .min_samples = 6, .max_samples = 20, .window = 6};
      break;
    case Level::standard:
      effort.rule = {.noise_target = 0.02, .min_samples = 9, .max_samples = 100};
      break;
    case Level::full:
      effort.sample_time = Seconds(1e-2);
      effort.budget = Seconds(60);
      effort.rule = {.noise_target = 0.01, .min_samples = 15, .max_samples = 300};
      break;
  }
  return effort;
}

}  // namespace

Effort effort_of(const HarnessOptions& options, std::size_t cases) {
  Effort effort = of_level(options.probe.level);
  const double runs = static_cast<double>(effort.least_rounds) + kRunsBeforeSamples;
  const Seconds affordable = effort.budget / (runs * static_cast<double>(cases));
  effort.sample_time = std::min(effort.sample_time, std::max(affordable, kShortestSample));
  if (options.sample_time) effort.sample_time = *options.sample_time;
  if (options.repetitions) {
    effort.rule.noise_target = 0;
    effort.rule.window = *options.repetitions;
    effort.rule.min_samples = effort.rule.max_samples = *options.repetitions;
    effort.budget = kUnlimited;
  }
  if (options.dry_run) {
    effort.sample_time = Seconds(0);
    effort.rule.min_samples = effort.rule.max_samples = 1;
    effort.warm_up = false;
  }
  if (options.max_time) effort.budget = std::min(effort.budget, *options.max_time);
  return effort;
}

}  // namespace plimsoll::probes
