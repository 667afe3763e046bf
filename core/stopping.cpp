// The stopping rule; its terms are in the header.

#include "core/stopping.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace plimsoll {
namespace {
constexpr std::size_t kSamplesForInterval = 6;
}  // namespace

std::optional<double> noise_of(Samples samples) {
  if (samples.size() < kSamplesForInterval) return std::nullopt;
  const Interval interval = median_interval(samples);
  const double half_width = (interval.high - interval.low) / 2;
  if (half_width == 0) return 0.0;
  const double middle = std::abs(median(samples));
  if (middle == 0) return std::nullopt;
  return half_width / middle;
}

std::string_view stop_reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::noise_below_target:
      return "noise below target";
    case StopReason::noise_converged:
      return "noise converged";
    case StopReason::time_out:
      return "time out";
    case StopReason::max_samples:
      return "max samples";
  }
  expects(false, "stop_reason_name: unknown reason");
  return {};
}

Stopping::Stopping(const StoppingRule& rule) : rule_(rule) {
  expects(rule.noise_target >= 0, "stopping: the noise target cannot be negative");
  expects(rule.min_samples >= 1 && rule.max_samples >= rule.min_samples,
          "stopping: 1 <= min_samples <= max_samples");
  expects(rule.window >= 1, "stopping: the window holds at least one sample");
  expects(rule.least_gain >= 0 && rule.least_gain < 1, "stopping: 0 <= least_gain < 1");
}

std::optional<StopReason> Stopping::add(double sample, Seconds elapsed) {
  expects(std::isfinite(sample), "stopping: a sample must be finite");
  samples_.push_back(sample);
  noise_ = noise_of(samples_);
  if (noise_) {
    least_noise_.push_back(least_noise_.empty() ? *noise_ : std::min(least_noise_.back(), *noise_));
  }
  if (!reason_) reason_ = judge(elapsed);
  return reason_;
}

std::optional<StopReason> Stopping::judge(Seconds elapsed) const {
  if (std::ssize(samples_) >= rule_.min_samples) {
    if (noise_ && *noise_ <= rule_.noise_target) return StopReason::noise_below_target;
    if (converged()) return StopReason::noise_converged;
  }
  if (elapsed >= rule_.max_time) return StopReason::time_out;
  if (std::ssize(samples_) >= rule_.max_samples) return StopReason::max_samples;
  return std::nullopt;
}

bool Stopping::converged() const {
  if (std::ssize(least_noise_) <= rule_.window) return false;
  const double now = least_noise_.back();
  const double before = *(least_noise_.end() - 1 - rule_.window);
  return now > before * (1 - rule_.least_gain);
}

}  // namespace plimsoll
