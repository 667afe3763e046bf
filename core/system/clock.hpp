// The one clock of this project: steady, in seconds, with its own resolution and cost measured.

#pragma once

#include <cstdint>
#include <optional>

#include "core/units.hpp"

namespace plimsoll::sys {

// Seconds since an arbitrary start; only differences mean something.
[[nodiscard]] Seconds now();

struct ClockFacts {
  Seconds
      resolution;  // smallest step seen between two reads that differ; 0: the clock stands still
  Seconds cost;    // of one read, averaged over many
  std::int64_t backward_steps = 0;  // reads that were earlier than the one before
};

// Measures for a few milliseconds, bounded by a count as well: a clock that stands still ends too.
[[nodiscard]] ClockFacts measure_clock();

// Intervals that cannot be true are dropped and counted, never averaged.
class IntervalGuard {
 public:
  // stop - start, or nothing when time ran backwards.
  std::optional<Seconds> interval(Seconds start, Seconds stop);
  [[nodiscard]] std::int64_t accepted() const { return accepted_; }
  [[nodiscard]] std::int64_t dropped() const { return dropped_; }
  // More than one in ten intervals was impossible: the measurement says nothing.
  [[nodiscard]] bool invalid() const { return dropped_ * 10 > accepted_ + dropped_; }

 private:
  std::int64_t accepted_ = 0, dropped_ = 0;
};

}  // namespace plimsoll::sys
