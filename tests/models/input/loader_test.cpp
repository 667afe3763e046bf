// The input pipeline against hand-worked cases.

#include "models/input/loader.hpp"
#include "tests/catch.hpp"

using namespace plimsoll;
using namespace plimsoll::models;

TEST_CASE("a free core hides a loader that is faster than the step") {
  const auto t = loader_time({.assemble = Seconds(2), .step = Seconds(5), .free_cores = 1});
  CHECK(t.exposed == Seconds(0));
  CHECK(t.hidden.value() == Approx(2).epsilon(1e-12));
  CHECK_FALSE(t.steals);
}

TEST_CASE("a slower loader sets the pace") {
  const auto t = loader_time({.assemble = Seconds(9), .step = Seconds(5), .free_cores = 1});
  CHECK(t.exposed.value() == Approx(4).epsilon(1e-12));
  CHECK(t.period.value() == Approx(9).epsilon(1e-12));
  const auto two = loader_time(
      {.assemble = Seconds(9), .step = Seconds(5), .loader_workers = 2, .free_cores = 2});
  CHECK(two.exposed == Seconds(0));
}

TEST_CASE("two ranks share one free core") {
  const auto t =
      loader_time({.assemble = Seconds(4), .step = Seconds(5), .ranks = 2, .free_cores = 1});
  CHECK(t.period.value() == Approx(8).epsilon(1e-12));
  CHECK(t.exposed.value() == Approx(3).epsilon(1e-12));
}

TEST_CASE("no free core, no thread, or no prefetch: all of it is paid") {
  const auto full = loader_time({.assemble = Seconds(2), .step = Seconds(5), .free_cores = 0});
  CHECK(full.exposed.value() == Approx(2));
  CHECK(full.steals);
  const auto none = loader_time(
      {.assemble = Seconds(2), .step = Seconds(5), .loader_workers = 0, .free_cores = 3});
  CHECK(none.exposed.value() == Approx(2));
  CHECK_FALSE(none.steals);
  const auto late =
      loader_time({.assemble = Seconds(2), .step = Seconds(5), .prefetch = 0, .free_cores = 3});
  CHECK(late.exposed.value() == Approx(2));
}
