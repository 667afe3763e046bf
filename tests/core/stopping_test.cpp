// The stopping rule: every reason can be reached, and it says which it was.

#include "core/stopping.hpp"

#include <random>
#include <string>

#include "tests/catch.hpp"

namespace plimsoll {
namespace {

constexpr Seconds kNow{0.0};

TEST_CASE("equal samples stop as soon as there are enough") {
  Stopping stopping({.min_samples = 7});
  for (int i = 1; i < 7; ++i) CHECK_FALSE(stopping.add(3.0, kNow));
  CHECK(stopping.add(3.0, kNow) == StopReason::noise_below_target);
  CHECK(stopping.noise() == 0.0);
  CHECK(stopping.samples().size() == 7);
}

TEST_CASE("samples of zero have no noise and nothing is divided") {
  Stopping stopping({});
  std::optional<StopReason> reason;
  for (int i = 0; i < 7; ++i) reason = stopping.add(0.0, kNow);
  CHECK(reason == StopReason::noise_below_target);
}

TEST_CASE("noise is half the interval over the median") {
  // Ten samples: the interval is the second to the ninth.
  const std::vector<double> samples{100, 90, 91, 95, 98, 102, 105, 109, 110, 500};
  CHECK(*noise_of(samples) == Approx((110.0 - 91.0) / 2 / 101.0));
  CHECK_FALSE(noise_of(std::vector<double>{1, 2, 3, 4, 5}));
  CHECK_FALSE(noise_of(std::vector<double>{-3, -2, -1, 1, 2, 3}));  // the median is zero
}

TEST_CASE("mild noise is averaged below the target") {
  std::mt19937_64 random(3);
  Stopping stopping({.noise_target = 0.02, .max_time = Seconds(100)});
  std::optional<StopReason> reason;
  while (!reason) {
    const double wobble = static_cast<double>(random() % 1000) / 1000.0;
    reason = stopping.add(1.0 + 0.1 * wobble, kNow);
  }
  CHECK(reason == StopReason::noise_below_target);
  CHECK(stopping.samples().size() > 7);
  CHECK(*stopping.noise() <= 0.02);
}

TEST_CASE("two levels that never settle: going on is not worth it") {
  Stopping stopping({.noise_target = 0.01, .max_samples = 10'000});
  std::optional<StopReason> reason;
  for (int i = 0; !reason; ++i) reason = stopping.add(i % 2 == 0 ? 1.0 : 2.0, kNow);
  CHECK(reason == StopReason::noise_converged);
  CHECK(*stopping.noise() > 0.01);
  CHECK(stopping.samples().size() < 50);
}

TEST_CASE("time out, even before the least number of samples") {
  Stopping stopping({.max_time = Seconds(2)});
  CHECK_FALSE(stopping.add(1.0, Seconds(1.9)));
  CHECK(stopping.add(1.0, Seconds(2.0)) == StopReason::time_out);
  CHECK_FALSE(stopping.noise());
}

TEST_CASE("at most so many samples") {
  Stopping stopping({.noise_target = 0, .min_samples = 1, .max_samples = 5});
  for (int i = 1; i < 5; ++i) CHECK_FALSE(stopping.add(i, kNow));
  CHECK(stopping.add(5, kNow) == StopReason::max_samples);
}

TEST_CASE("the first reason stays, whatever is added later") {
  Stopping stopping({.max_time = Seconds(1)});
  CHECK(stopping.add(1.0, Seconds(5)) == StopReason::time_out);
  for (int i = 0; i < 50; ++i) CHECK(stopping.add(1.0, kNow) == StopReason::time_out);
}

TEST_CASE("every reason has words") {
  for (const auto reason : {StopReason::noise_below_target, StopReason::noise_converged,
                            StopReason::time_out, StopReason::max_samples}) {
    CHECK_FALSE(stop_reason_name(reason).empty());
  }
  CHECK(std::string(stop_reason_name(StopReason::time_out)) == "time out");
}

}  // namespace
}  // namespace plimsoll
