// Which load's measurements speak, and what is said when a substitute does.

#include <cmath>

#include "models/operator/selection.hpp"
#include "tests/catch.hpp"

using namespace plimsoll;
using namespace plimsoll::models;

namespace {

void add(std::vector<LoadedPoint>& points, Load load, int count, double factor) {
  for (int i = 0; i < count; ++i) {
    points.push_back({load, {{static_cast<double>(i)}, std::log(factor) + i, 0.0}});
  }
}

constexpr Load kAlone{.threads = 1, .busy_cores = 0}, kBusy{.threads = 1, .busy_cores = 1};

}  // namespace

TEST_CASE("nothing measured: nothing selected") { CHECK_FALSE(select({}, kAlone)); }

TEST_CASE("the wanted load is taken as it is where nothing is richer") {
  std::vector<LoadedPoint> points;
  add(points, kAlone, 6, 1);
  add(points, kBusy, 8, 2);
  const auto s = select(points, kBusy);
  CHECK(s->points.size() == 8);
  CHECK(s->assumption.empty());
  CHECK(s->log_sd == 0);
}

TEST_CASE("a few busy shapes keep their times and scale the others") {
  std::vector<LoadedPoint> points;
  add(points, kAlone, 10, 1);
  add(points, kBusy, 4, 1.5);
  points.back().point.log_time += 0.3;  // its own time, not the common ratio
  const auto s = select(points, kBusy);
  REQUIRE(s->points.size() == 10);
  CHECK(s->points[0].log_time == Approx(std::log(1.5)));
  CHECK(s->points[3].log_time == Approx(std::log(1.5) + 3.3));
  CHECK(s->points[9].log_time == Approx(std::log(1.5) + 9).margin(0.05));  // far: the median
  CHECK(s->points[4].log_time > std::log(1.5) + 4.05);  // near the slow one: slower
  CHECK(s->assumption.find("4 shapes") != std::string::npos);
}

TEST_CASE("another load is a stated assumption with a wider interval") {
  std::vector<LoadedPoint> points;
  add(points, kAlone, 10, 1);
  const auto busy = select(points, kBusy);
  CHECK(busy->points.size() == 10);
  CHECK(busy->assumption.find("1 other cores busy") != std::string::npos);
  CHECK(busy->log_sd > 0);
  const auto threads = select(points, {.threads = 4, .busy_cores = 0});
  CHECK(threads->points[0].log_time == Approx(std::log(0.25)));
  CHECK(threads->log_sd > busy->log_sd);
}
