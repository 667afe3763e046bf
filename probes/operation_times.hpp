// Times of single operations, for the percentiles that a mean over many operations hides. Keeps a
// uniform sample of at most kMost of them, so that a long measurement costs bounded memory.

#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/statistics.hpp"
#include "core/units.hpp"

namespace plimsoll::probes {

class OperationTimes {
 public:
  void add(Seconds time) {
    ++seen_;
    if (times_.size() < kMost) {
      times_.push_back(time.value());
    } else if (const std::uint64_t at = random_() % seen_; at < kMost) {
      times_[at] = time.value();
    }
  }

  // operation_{min,median,p90,p99,p999,max}_s and how many they stand for; nothing without any.
  [[nodiscard]] std::map<std::string, double> summary() const {
    if (times_.empty()) return {};
    const Summary all = summarize(times_);
    return {{"operation_min_s", all.min},
            {"operation_median_s", all.median},
            {"operation_p90_s", all.p90},
            {"operation_p99_s", all.p99},
            {"operation_p999_s", quantile(times_, 0.999)},
            {"operation_max_s", all.max},
            {"operation_count", static_cast<double>(seen_)}};
  }

 private:
  static constexpr std::uint64_t kMost = 1 << 17;
  std::vector<double> times_;
  std::uint64_t seen_ = 0;
  std::mt19937_64 random_{1};
};

}  // namespace plimsoll::probes
