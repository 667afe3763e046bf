// Sums of monomial costs: exact where times are such a sum, sensible where little is known.

#include "models/numeric/monomials.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace plimsoll::models;

TEST_CASE("times that are a sum of costs are met, between and far outside") {
  const auto time = [](double m, double n) { return 3e-6 + 2e-9 * m * n + 5e-8 * n; };
  std::vector<std::vector<double>> places;
  std::vector<double> times;
  for (const double m : {1.0, 8.0, 64.0, 512.0}) {
    for (const double n : {2.0, 30.0, 400.0, 5000.0}) {
      places.push_back({std::log2(m), std::log2(n)});
      times.push_back(std::log(time(m, n)));
    }
  }
  const CostSum sum = fit_cost_sum({{0, 0}, {1, 1}, {0, 1}, {1, 0}}, places, times);
  CHECK(std::exp(log_time(sum, {std::log2(100.0), std::log2(100.0)})) ==
        Approx(time(100, 100)).epsilon(0.02));
  CHECK(std::exp(log_time(sum, {std::log2(1e5), std::log2(1e5)})) ==
        Approx(time(1e5, 1e5)).epsilon(0.03));
  const auto far = slopes(sum, {std::log2(1e5), std::log2(1e5)});
  CHECK(far[0] == Approx(1).margin(0.01));
  CHECK(far[1] == Approx(1).margin(0.01));
  const auto small = slopes(sum, {0.0, 0.0});
  CHECK(small[0] < 0.1);
}

TEST_CASE("one term: the geometric mean; one point: through it") {
  const CostSum one = fit_cost_sum({{1}}, {{0.0}, {1.0}}, {std::log(2.0), std::log(16.0)});
  CHECK(std::exp(log_time(one, {0.0})) == Approx(4.0).epsilon(0.01));  // ratios 2 and 8
  const CostSum point = fit_cost_sum({{0}, {1}}, {{3.0}}, {std::log(5.0)});
  CHECK(std::exp(log_time(point, {3.0})) == Approx(5.0).epsilon(0.01));
  CHECK(slopes(point, {3.0})[0] > 0.9);  // a single timing is taken for work, not for a call
}

TEST_CASE("more of anything never costs less") {
  const CostSum sum = fit_cost_sum({{0, 0}, {1, 1}, {1, 0}}, {{1, 2}, {4, 3}, {6, 1}},
                                   {1.0, -2.0, 0.5});  // nonsense times
  for (double a = 0; a < 8; a += 1) {
    CHECK(log_time(sum, {a + 1, 2}) >= log_time(sum, {a, 2}));
    CHECK(log_time(sum, {2, a + 1}) >= log_time(sum, {2, a}));
  }
}
