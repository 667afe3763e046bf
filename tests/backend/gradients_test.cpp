// Gradients against finite differences of the forward definition: no backward formula is trusted.
//
// With L = sum r y for fixed random r, dL/dv = (L(v + h) - L(v - h)) / 2h for every element v of
// the input and of each parameter. Of the loss, L is the sum of the losses and r = loss_scale.

#include <variant>

#include "probes/kernel/oracle.hpp"
#include "tests/backend/fixture.hpp"
#include "tests/catch.hpp"

namespace plimsoll::trainer::test {
namespace {

constexpr double kStep = 1.0 / 1024;

double weighted_sum(Fixture& fixture) {
  const probes::Oracle oracle(fixture.graph(), fixture.op(), Direction::forward, fixture.operands);
  const bool loss = std::holds_alternative<SoftmaxCrossEntropy>(fixture.op().attributes);
  double sum = 0;
  for (std::int64_t i = 0; i < oracle.outputs(); ++i) {
    const double weight =
        loss ? fixture.operands.loss_scale : probes::value_at(fixture.operands.dy, i);
    sum += weight * oracle.expected(i).value;
  }
  return sum;
}

// A step that crosses a kink (relu at zero, a change of the largest element) has no derivative.
bool kinked(const Op& op) {
  const auto* const pool = std::get_if<Pool>(&op.attributes);
  return std::holds_alternative<Relu>(op.attributes) ||
         (pool != nullptr && pool->mode == Pool::Mode::max);
}

bool smooth(Fixture& fixture, const View& variable, std::int64_t i, double here, double& slope) {
  auto* const value = static_cast<float*>(variable.data) + i;
  const float before = *value;
  *value = before + static_cast<float>(kStep);
  const double up = weighted_sum(fixture);
  *value = before - static_cast<float>(kStep);
  const double down = weighted_sum(fixture);
  *value = before;
  slope = (up - down) / (2 * kStep);
  return !kinked(fixture.op()) || std::abs((up - here) - (here - down)) < 1e-6;
}

void check(Fixture& fixture, const View& variable, const View& gradient) {
  const double here = weighted_sum(fixture);
  std::int64_t checked = 0;
  for (std::int64_t i = 0; i < variable.elements; ++i) {
    double slope = 0;
    if (!smooth(fixture, variable, i, here, slope)) continue;
    ++checked;
    CHECK(probes::value_at(gradient, i) == Approx(slope).margin(2e-3).epsilon(2e-3));
  }
  CHECK((2 * checked > variable.elements || variable.elements < 4));
}

TEST_CASE("gradients are the slopes of what goes forward") {
  const auto backend = make_cpu_backend(1);
  const std::int64_t batch = GENERATE(1, 3);
  for (const Shaped& shaped : shapes()) {
    if (elements(shaped.graph.tensors.front().shape) > 100) continue;  // quadratic in the size
    // Of one row, the variance is zero and the slopes those of a square root at zero.
    if (batch == 1 && shaped.name == "batch norm of 7") continue;
    INFO(shaped.name << " batch " << batch);
    Fixture fixture(shaped.graph, batch, 3);
    fixture.run_forward(*backend);
    for (const Direction direction : {Direction::backward_data, Direction::backward_weights}) {
      if (does_something(fixture.op(), direction)) fixture.make(*backend, direction)->execute();
    }
    if (does_something(fixture.op(), Direction::backward_data)) {
      check(fixture, fixture.operands.x, fixture.operands.dx);
    }
    for (std::size_t i = 0; i < fixture.operands.w.size(); ++i) {
      check(fixture, fixture.operands.w[i], fixture.operands.dw[i]);
    }
  }
}

}  // namespace
}  // namespace plimsoll::trainer::test
