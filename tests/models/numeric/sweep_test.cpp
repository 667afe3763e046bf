// Log-log sweeps: exact at the points, monotone, flagged outside.

#include <cmath>

#include "models/numeric/isotonic.hpp"
#include "models/numeric/sweep.hpp"
#include "tests/catch.hpp"

using namespace plimsoll::models;

namespace {

constexpr double kMiB = 1048576.0;

SweepPoint point(double size, double time) { return {size, time, 0.9 * time, 1.2 * time}; }

// A bandwidth table in GB/s.
SweepPoint rated(double size, double gigabytes) { return point(size, size / (gigabytes * 1e9)); }

}  // namespace

TEST_CASE("a bandwidth table: inside log-log, below its latency, above its last rate") {
  const Sweep s = make_sweep({rated(kMiB, 10), rated(16 * kMiB, 30), rated(256 * kMiB, 40)});
  CHECK(at(s, kMiB).time == Approx(kMiB / 10e9).epsilon(1e-14));
  CHECK(at(s, 256 * kMiB).time == Approx(256 * kMiB / 40e9).epsilon(1e-14));
  CHECK_FALSE(at(s, kMiB).extrapolated);
  CHECK_FALSE(at(s, 256 * kMiB).extrapolated);
  // 8 MiB lies three quarters of the way from 1 to 16 MiB in logarithms.
  const double t0 = kMiB / 10e9, t1 = 16 * kMiB / 30e9;
  CHECK(at(s, 8 * kMiB).time == Approx(t0 * std::pow(t1 / t0, 0.75)).epsilon(1e-13));
  CHECK(at(s, 1).time == Approx(t0).epsilon(1e-14));
  CHECK(at(s, 1).extrapolated);
  CHECK(at(s, 65536).extrapolated);
  CHECK(at(s, 4096 * kMiB).time == Approx(4096 * kMiB / 40e9).epsilon(1e-13));
  CHECK(at(s, 4096 * kMiB).extrapolated);
  CHECK(at(s, 8 * kMiB).log_sd > 0);
  CHECK(at(s, kMiB).log_sd == 0);
}

TEST_CASE("order and repetition of the rows do not matter") {
  const Sweep sorted = make_sweep({rated(kMiB, 10), rated(256 * kMiB, 40)});
  const Sweep unsorted = make_sweep({rated(256 * kMiB, 40), rated(kMiB, 10)});
  for (const double size : {1.0, 3e6, 5e7, 1e10}) {
    CHECK(at(sorted, size).time == at(unsorted, size).time);
  }
  const Sweep twice = make_sweep({point(kMiB, 1.0), point(kMiB, 4.0)});
  CHECK(at(twice, kMiB).time == Approx(2.0).epsilon(1e-14));  // geometric mean
  CHECK(at(twice, kMiB).low == Approx(0.9));
  CHECK(at(twice, kMiB).high == Approx(4.8));
}

TEST_CASE("one row: constant below, proportional above") {
  const Sweep s = make_sweep({rated(kMiB, 10)});
  CHECK(at(s, 10).time == Approx(kMiB / 10e9));
  CHECK(at(s, 3 * kMiB).time == Approx(3 * kMiB / 10e9));
}

TEST_CASE("a size that was quicker than a smaller one is evened out") {
  const Sweep s = make_sweep({point(1, 1.0), point(2, 3.0), point(4, 2.0), point(8, 8.0)});
  double last = 0;
  for (double size = 0.5; size < 20; size *= 1.05) {
    const SweepValue v = at(s, size);
    CHECK(v.time >= last);
    CHECK(v.low <= v.time);
    CHECK(v.time <= v.high);
    last = v.time;
  }
  CHECK(at(s, 2).time == Approx(std::sqrt(6.0)));  // the geometric mean of 3 and 2
  CHECK(at(s, 4).time == Approx(std::sqrt(6.0)));
  CHECK(at(s, 8).time == Approx(8.0));
}

TEST_CASE("a disturbed point with a wide interval bends to its neighbours") {
  std::vector<SweepPoint> points;
  for (const double size : {4.0, 16.0, 64.0, 256.0}) points.push_back(point(size, 1e-6));
  points[0] = {4.0, 14e-3, 1e-6, 28e-3};
  const Sweep s = make_sweep(points);
  CHECK(at(s, 4).time < 2e-6);
  CHECK(at(s, 256).time < 2e-6);
  CHECK(at(s, 4).high >= at(s, 4).time);
}

TEST_CASE("isotonic regression by hand") {
  CHECK(isotonic({1, 2, 3}, {1, 1, 1}) == std::vector<double>{1, 2, 3});
  CHECK(isotonic({1, 4, 2}, {1, 1, 1}) == std::vector<double>{1, 3, 3});
  CHECK(isotonic({4, 2, 3}, {1, 3, 1})[0] == Approx(2.5));  // (4 + 6) / 4, below 3
  CHECK(isotonic({3, 2, 1}, {1, 1, 1}) == std::vector<double>{2, 2, 2});
}
