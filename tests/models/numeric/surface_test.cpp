// The time surface: exact at measurements, monotone everywhere, honest outside, good between.

#include <algorithm>
#include <cmath>
#include <random>

#include "core/machine.hpp"
#include "models/numeric/cholesky.hpp"
#include "models/numeric/surface.hpp"
#include "models/operator/kinds.hpp"
#include "tests/catch.hpp"
#include "tests/models/machines.hpp"

using namespace plimsoll;
using namespace plimsoll::models;

namespace {

std::vector<SurfacePoint> points_of(const std::vector<MatmulSample>& samples) {
  Machine machine;
  machine.matmul = samples;
  std::vector<SurfacePoint> points;
  for (const LoadedPoint& p : linear_table(machine, DType::f32, Direction::forward).points) {
    points.push_back(p.point);
  }
  return points;
}

double median_absolute(std::vector<double> residuals) {
  for (double& r : residuals) r = std::abs(std::expm1(r));
  std::sort(residuals.begin(), residuals.end());
  return residuals[residuals.size() / 2];
}

const SurfacePrior kPrior{.terms = {{0, 0, 0}, {1, 1, 1}, {1, 1, 0}, {1, 0, 1}, {0, 1, 1}}};

}  // namespace

TEST_CASE("cholesky solves a hand-worked system and its inverse diagonal is right") {
  Matrix a(2), lower(0);
  a(0, 0) = 4;
  a(0, 1) = a(1, 0) = 2;
  a(1, 1) = 3;
  REQUIRE(cholesky(a, lower));
  CHECK(lower(0, 0) == Approx(2).epsilon(1e-14));
  CHECK(lower(1, 0) == Approx(1).epsilon(1e-14));
  CHECK(lower(1, 1) == Approx(std::sqrt(2.0)).epsilon(1e-14));
  const auto x = solve(lower, {8, 7});  // 4x + 2y = 8, 2x + 3y = 7
  CHECK(x[0] == Approx(1.25).epsilon(1e-14));
  CHECK(x[1] == Approx(1.5).epsilon(1e-14));
  const auto d = inverse_diagonal(lower);  // inverse = 1/8 [3 -2; -2 4]
  CHECK(d[0] == Approx(3.0 / 8).epsilon(1e-14));
  CHECK(d[1] == Approx(4.0 / 8).epsilon(1e-14));
  a(1, 1) = 1;  // determinant 0
  CHECK_FALSE(cholesky(a, lower));
}

TEST_CASE("a surface goes through exact measurements and is flagged outside them") {
  const auto points =
      points_of(tests::plausible_matmul({8, 64, 512}, {4, 32, 256}, {16, 128, 1000}, 0.0, 1));
  const Surface s = fit_surface(points, kPrior);
  for (const SurfacePoint& p : points) {
    const SurfaceValue v = evaluate(s, p.features);
    CHECK(v.log_time == Approx(p.log_time).epsilon(1e-12));
    CHECK_FALSE(v.extrapolated);
    CHECK(v.log_sd < 0.1);
  }
  const SurfaceValue above = evaluate(s, {10, 8, 7});
  const SurfaceValue edge = evaluate(s, {9, 8, 7});
  CHECK(above.extrapolated);
  CHECK_FALSE(edge.extrapolated);
  CHECK(above.log_time - edge.log_time == Approx(std::log(2.0)).epsilon(1e-12));  // last rate
  CHECK(above.log_sd > edge.log_sd);
  CHECK(evaluate(s, {2, 8, 7}).extrapolated);
}

TEST_CASE("a noisy measurement is met to within its own interval") {
  const auto points =
      points_of(tests::plausible_matmul({8, 64, 512}, {4, 32, 256}, {16, 128, 1000}, 0.05, 2));
  const Surface s = fit_surface(points, kPrior);
  for (const SurfacePoint& p : points) {
    CHECK(std::abs(evaluate(s, p.features).log_time - p.log_time) <= 1.96 * p.log_error + 1e-12);
  }
}

TEST_CASE("more work never takes less time, in the box and outside, noise or not") {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const Surface s =
        fit_surface(points_of(tests::plausible_matmul({8, 17, 64, 512}, {4, 13, 32, 256},
                                                      {16, 100, 1000}, 0.15, seed)),
                    kPrior);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> place(0, 12), step(0, 1);
    for (int i = 0; i < 5000; ++i) {
      const std::vector<double> x = {place(random), place(random), place(random)};
      std::vector<double> more = x;
      for (double& v : more) v += step(random);
      CHECK(evaluate(s, more).log_time >= evaluate(s, x).log_time - 1e-12);
    }
  }
}

TEST_CASE("leave one out: within a few per cent on a plausible table, and it tells noise") {
  const auto clean = points_of(
      tests::plausible_matmul({8, 32, 128, 512}, {8, 32, 128, 512}, {16, 64, 256, 1024}, 0.0, 1));
  const double clean_error = median_absolute(leave_one_out(clean, kPrior));
  CHECK(clean_error < 0.06);
  const auto noisy = points_of(
      tests::plausible_matmul({8, 32, 128, 512}, {8, 32, 128, 512}, {16, 64, 256, 1024}, 0.10, 1));
  const double noisy_error = median_absolute(leave_one_out(noisy, kPrior));
  CHECK(noisy_error > clean_error);
  CHECK(noisy_error < 0.15);
}

TEST_CASE("between the points the surface is close to the law that made them") {
  const auto points = points_of(tests::plausible_matmul({16, 64, 256, 1024}, {8, 32, 128, 512},
                                                        {32, 128, 512, 2048}, 0.0, 1));
  const Surface s = fit_surface(points, kPrior);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> m(4, 10), n(3, 9), k(5, 11);
  std::vector<double> residuals;
  int inside = 0;
  for (int i = 0; i < 400; ++i) {
    const double rows = std::round(std::exp2(m(random))), cols = std::round(std::exp2(n(random))),
                 depth = std::round(std::exp2(k(random)));
    const SurfaceValue v = evaluate(s, {std::log2(rows), std::log2(cols), std::log2(depth)});
    const double residual = v.log_time - std::log(tests::plausible_matmul_time(rows, cols, depth));
    residuals.push_back(residual);
    inside += std::abs(residual) <= 1.96 * v.log_sd ? 1 : 0;
  }
  CHECK(median_absolute(residuals) < 0.06);
  CHECK(inside > 300);  // an interval of nominally 95 % holds most
}

TEST_CASE("vector lanes are seen in a table that shows them, and only there") {
  // 17 columns cost as much as 32, 10 as much as 16.
  const auto table = [](double lanes) {
    std::vector<SurfacePoint> points;
    for (const double rows : {16.0, 64.0, 256.0}) {
      for (const double cols : {5.0, 8.0, 16.0, 20.0, 32.0, 40.0, 100.0, 256.0}) {
        const double filled = std::ceil(cols / lanes) * lanes;
        points.push_back({{std::log2(rows), std::log2(cols)}, std::log(rows * (filled + 4)), 0.0});
      }
    }
    return points;
  };
  const SurfacePrior prior{.terms = {{0, 0}, {1, 1}, {1, 0}}, .lanes_feature = 1};
  const Surface wide = fit_surface(table(16), prior);
  CHECK(wide.lanes == 16);
  const double filled = evaluate(wide, {6, std::log2(17.0)}).log_time;
  CHECK(filled == Approx(std::log(64 * 36.0)).margin(0.02));
  CHECK(evaluate(wide, {6, std::log2(17.0)}).log_time == evaluate(wide, {6, 5}).log_time);
  CHECK(fit_surface(table(1), prior).lanes == 1);
  CHECK(fit_surface(table(16), {.terms = {{0, 0}, {1, 1}, {1, 0}}}).lanes == 1);
}

TEST_CASE("one point: its costs through it; equal shapes: their mean") {
  const Surface one = fit_surface({{{3.0}, std::log(2.0), 0.0}}, {.terms = {{1}}});
  CHECK(evaluate(one, {3.0}).log_time == Approx(std::log(2.0)));
  CHECK(evaluate(one, {4.0}).log_time == Approx(std::log(4.0)));
  CHECK(evaluate(one, {2.0}).log_time == Approx(std::log(1.0)).margin(1e-12));
  CHECK(evaluate(one, {2.0}).extrapolated);
  const Surface twice = fit_surface({{{3.0}, 1.0, 0.0}, {{3.0}, 2.0, 0.0}}, {.terms = {{1}}});
  CHECK(evaluate(twice, {3.0}).log_time == Approx(1.5));
}

TEST_CASE("the same table gives the same bits") {
  const auto points =
      points_of(tests::plausible_matmul({8, 64, 512}, {4, 32, 256}, {16, 128, 1000}, 0.05, 3));
  const SurfaceValue a = evaluate(fit_surface(points, kPrior), {7.1, 3.3, 5.5});
  const SurfaceValue b = evaluate(fit_surface(points, kPrior), {7.1, 3.3, 5.5});
  CHECK(a.log_time == b.log_time);
  CHECK(a.log_sd == b.log_sd);
}
