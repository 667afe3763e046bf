// The clock and its facts; impossible intervals are dropped and counted.

#include "core/system/clock.hpp"

#include "tests/catch.hpp"

namespace plimsoll::sys {

TEST_CASE("the clock moves forward, and its resolution and cost are measured") {
  const Seconds before = now();
  const ClockFacts facts = measure_clock();
  CHECK(now() > before);
  CHECK(facts.resolution > Seconds(0));
  CHECK(facts.resolution < Seconds(0.1));
  CHECK(facts.cost > Seconds(0));
  CHECK(facts.backward_steps == 0);
}

TEST_CASE("intervals that run backwards are dropped and counted") {
  IntervalGuard guard;
  CHECK(guard.interval(Seconds(1), Seconds(3)) == Seconds(2));
  CHECK(guard.interval(Seconds(2), Seconds(2)) == Seconds(0));
  CHECK_FALSE(guard.interval(Seconds(3), Seconds(1)));
  CHECK(guard.accepted() == 2);
  CHECK(guard.dropped() == 1);
  CHECK(guard.invalid());
  for (int i = 0; i < 7; ++i) CHECK(guard.interval(Seconds(0), Seconds(1)));
  CHECK_FALSE(guard.invalid());  // one in ten is the limit
}

}  // namespace plimsoll::sys
