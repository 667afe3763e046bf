// Have we measured enough? Fed one sample at a time; owns no clock: elapsed time is passed in.
//
//     noise = half width of the median's 95 % interval / |median|
//
// Stops when the noise is below the target; or it is no longer worth going on: the last `window`
// samples lowered the least noise seen by less than the share `least_gain`; or time or samples run
// out. Noise is not asked for before `min_samples`; time is obeyed from the first sample on.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/statistics.hpp"
#include "core/units.hpp"

namespace plimsoll {

struct StoppingRule {
  double noise_target = 0.02;
  std::int64_t min_samples = 7;  // six are the fewest that give a 95 % interval
  std::int64_t max_samples = 200;
  std::int64_t window = 10;
  double least_gain = 0.05;
  Seconds max_time{5.0};
};

enum class StopReason { noise_below_target, noise_converged, time_out, max_samples };
[[nodiscard]] std::string_view stop_reason_name(StopReason reason);  // "noise below target", ...

class Stopping {
 public:
  explicit Stopping(const StoppingRule& rule);

  // Takes a sample and the time since measuring began; the reason to stop, once there is one.
  std::optional<StopReason> add(double sample, Seconds elapsed);

  [[nodiscard]] std::optional<StopReason> reason() const { return reason_; }
  // Absent with fewer than six samples and where the median is zero but the samples are not.
  [[nodiscard]] std::optional<double> noise() const { return noise_; }
  [[nodiscard]] const std::vector<double>& samples() const { return samples_; }

 private:
  [[nodiscard]] std::optional<StopReason> judge(Seconds elapsed) const;
  [[nodiscard]] bool converged() const;

  StoppingRule rule_;
  std::vector<double> samples_;
  std::vector<double> least_noise_;  // least noise seen up to each sample that had one
  std::optional<double> noise_;
  std::optional<StopReason> reason_;
};

// The noise of a finished set of samples, as above.
[[nodiscard]] std::optional<double> noise_of(Samples samples);

}  // namespace plimsoll
