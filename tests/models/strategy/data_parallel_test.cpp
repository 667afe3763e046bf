// The overlap formula and the straggler factor against hand-worked cases.

#include "models/strategy/data_parallel.hpp"

#include <algorithm>

#include "tests/catch.hpp"

using namespace plimsoll;
using namespace plimsoll::models;

namespace {

// Operators 2, 1, 0 in the order of backward; operator 1 has a second kernel after its gradients.
const std::vector<BackwardOp> kBackward = {
    {2, Seconds(2)}, {1, Seconds(3), true}, {1, Seconds(2), false}, {0, Seconds(5)}};

}  // namespace

TEST_CASE("a link with its own engine: start = max(ready, end before)") {
  const auto o = overlap(kBackward, {{2, Seconds(4)}, {1, Seconds(1)}, {0, Seconds(3)}}, 0.0, true);
  CHECK(o.backward.value() == Approx(12).epsilon(1e-12));
  REQUIRE(o.reduction_ends.size() == 3);
  CHECK(o.reduction_ends[0].value() == Approx(6).epsilon(1e-12));   // 2 + 4
  CHECK(o.reduction_ends[1].value() == Approx(7).epsilon(1e-12));   // max(5, 6) + 1
  CHECK(o.reduction_ends[2].value() == Approx(15).epsilon(1e-12));  // max(12, 7) + 3
  CHECK(o.exposed.value() == Approx(3).epsilon(1e-12));
  CHECK(o.hidden.value() == Approx(5).epsilon(1e-12));
  CHECK(o.stolen == Seconds(0));
  CHECK(o.end.value() == Approx(15).epsilon(1e-12));
}

TEST_CASE("a queue of reductions longer than backward is exposed beyond it") {
  const auto o = overlap(kBackward, {{2, Seconds(9)}, {1, Seconds(4)}}, 0.0, true);
  CHECK(o.exposed.value() == Approx(3).epsilon(1e-12));  // 2 + 9 + 4 - 12
  CHECK(o.hidden.value() == Approx(10).epsilon(1e-12));
}

TEST_CASE("a bucket starts when its gradients are done, before the operator's other kernel") {
  const auto o = overlap(kBackward, {{1, Seconds(1)}}, 0.0, true);
  CHECK(o.reduction_ends[0].value() == Approx(6).epsilon(1e-12));  // 2 + 3, then 1
}

TEST_CASE("reductions by the computing cores move into backward and save nothing") {
  const auto o = overlap(kBackward, {{2, Seconds(4)}, {1, Seconds(1)}, {0, Seconds(3)}}, 1.0, true);
  CHECK(o.stolen.value() == Approx(5).epsilon(1e-12));
  CHECK(o.exposed.value() == Approx(3).epsilon(1e-12));
  CHECK(o.hidden.value() == Approx(5).epsilon(1e-12));
  CHECK(o.end.value() == Approx(20).epsilon(1e-12));
}

TEST_CASE("half of the work on the computing cores") {
  const auto o = overlap(kBackward, {{2, Seconds(4)}}, 0.5, true);
  CHECK(o.stolen.value() == Approx(2).epsilon(1e-12));
  CHECK(o.exposed == Seconds(0));
  CHECK(o.hidden.value() == Approx(4).epsilon(1e-12));
  CHECK(o.end.value() == Approx(14).epsilon(1e-12));
}

TEST_CASE("without overlap everything is exposed") {
  for (const double share : {0.0, 1.0}) {
    const auto o = overlap(kBackward, {{2, Seconds(4)}, {0, Seconds(3)}}, share, false);
    CHECK(o.exposed.value() == Approx(7).epsilon(1e-12));
    CHECK(o.hidden.value() == Approx(0).margin(1e-12));
    CHECK(o.reduction_ends[0].value() == Approx(16).epsilon(1e-12));
  }
}

TEST_CASE("nothing to reduce costs nothing") {
  const auto o = overlap(kBackward, {}, 1.0, true);
  CHECK(o.end == o.backward);
  CHECK(o.exposed == Seconds(0));
  CHECK(o.hidden == Seconds(0));
}

TEST_CASE("exposed lies between the bounds of perfect and no overlap") {
  for (const double share : {0.0, 0.3, 1.0}) {
    const auto o = overlap(kBackward, {{2, Seconds(6)}, {1, Seconds(6)}}, share, true);
    CHECK(o.end >= std::max(o.backward, Seconds(12)));
    CHECK(o.end <= o.backward + Seconds(12));
  }
}

TEST_CASE("hidden communication is never below zero, whatever rounding does") {
  // One reduction posted after backward is exposed as (backward + t) - backward, which rounding
  // makes larger than t now and then; by that the naive difference goes below zero.
  int below = 0;
  for (int i = 1; i <= 200; ++i) {
    const Seconds backward(1e-3 * i), reduction(3.7e-6 / i);
    const auto o = overlap({{0, backward}}, {{0, reduction}}, 1.0, true);
    const Seconds naive = reduction - ((backward + reduction) - backward);
    below += naive < Seconds(0) ? 1 : 0;
    CHECK(o.hidden >= Seconds(0));
    CHECK(o.hidden == std::max(Seconds(0), naive));
    CHECK(o.exposed >= Seconds(0));
    CHECK(o.stolen == Seconds(0));
  }
  CHECK(below > 20);  // else this shows nothing
}

TEST_CASE("stragglers: Blom's normal scores") {
  CHECK(straggler_factor(1, 0.2) == 1.0);
  CHECK(straggler_factor(8, 0.0) == 1.0);
  // z_2 = Phi^-1(1.625 / 2.25) = 0.58946; z_16 = Phi^-1(15.625 / 16.25) = 1.76883.
  CHECK(straggler_factor(2, 0.1) == Approx(1.058946).epsilon(1e-5));
  CHECK(straggler_factor(16, 0.2) == Approx(1.353765).epsilon(1e-5));
  CHECK(straggler_factor(64, 0.1) > straggler_factor(16, 0.1));
}
