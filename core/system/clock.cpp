// The steady clock, its resolution and its cost.

#include "core/system/clock.hpp"

#include <algorithm>
#include <chrono>

namespace plimsoll::sys {
namespace {

constexpr int kReads = 20000;  // under a millisecond where a read costs tens of nanoseconds

// A coarse clock (10 ms steps) needs many reads to show one step; this bounds the search.
constexpr int kMostReads = 2'000'000;

}  // namespace

Seconds now() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return Seconds(std::chrono::duration<double>(since_start).count());
}

ClockFacts measure_clock() {
  using Clock = std::chrono::steady_clock;
  using Duration = std::chrono::duration<double>;
  ClockFacts facts;
  double smallest = 0;
  int steps = 0;
  Clock::time_point before = Clock::now();
  // The raw ticks are compared: as doubles since boot they would lose nanoseconds after months.
  for (int i = 0; i < kMostReads && (i < kReads || steps < 3); ++i) {
    const Clock::time_point at = Clock::now();
    if (at < before) {
      ++facts.backward_steps;
    } else if (at > before) {
      const double step = Duration(at - before).count();
      smallest = steps == 0 ? step : std::min(smallest, step);
      ++steps;
    }
    before = at;
  }
  facts.resolution = Seconds(smallest);

  const Clock::time_point start = Clock::now();
  Clock::time_point last = start;
  for (int i = 0; i < kReads; ++i) last = Clock::now();
  facts.cost = Seconds(std::max(0.0, Duration(last - start).count() / kReads));
  return facts;
}

std::optional<Seconds> IntervalGuard::interval(Seconds start, Seconds stop) {
  if (stop < start) {
    ++dropped_;
    return std::nullopt;
  }
  ++accepted_;
  return stop - start;
}

}  // namespace plimsoll::sys
