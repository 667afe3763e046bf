// Operator times from tables: exact where measured, monotone in the batch, never below the floors.

#include <cmath>

#include "core/error.hpp"
#include "core/workloads/workloads.hpp"
#include "models/operator/operators.hpp"
#include "tests/catch.hpp"
#include "tests/models/machines.hpp"

using namespace plimsoll;
using namespace plimsoll::models;

namespace {

const Op& op_named(const Graph& graph, const std::string& name) {
  for (const Op& op : graph.ops) {
    if (op.name == name) return op;
  }
  FAIL("no operator " << name);
  return graph.ops.front();
}

constexpr Direction kDirections[] = {Direction::forward, Direction::backward_data,
                                     Direction::backward_weights};

}  // namespace

TEST_CASE("on a machine of one rate every operator takes its work over the rate") {
  const Machine m = tests::flat_machine(FlopPerSecond(50e9), BytesPerSecond(8e9));
  for (const Workload& w : {mlp_workload(), lenet_workload()}) {
    const Operators operators(m, w.graph, DType::f32, {});
    for (const Op& op : w.graph.ops) {
      for (const Direction d : kDirections) {
        if (!computes(w.graph, op, d)) {
          CHECK(operators.time(op, d, 256).time == Seconds(0));
          continue;
        }
        const Cost cost = cost_of(w.graph, op, d, 256, DType::f32);
        const bool matmul_like = !op.parameters.empty();
        const double expected = matmul_like ? cost.flop.value() / 50e9 : cost.bytes.value() / 8e9;
        INFO(w.name << " " << op.name << " " << to_string(d));
        // Interpolating ln(2 k + 1) over k from 1 costs a few per cent; odd pooled sides one more.
        CHECK(operators.time(op, d, 256).time.value() == Approx(expected).epsilon(0.12));
      }
    }
    CHECK(operators.optimizer(1000000).time.value() == Approx(20e6 / 8e9).epsilon(0.02));
    CHECK(operators.gather(256, 784).time.value() == Approx(5.0 * 256 * 784 / 8e9).epsilon(0.02));
  }
}

TEST_CASE("a bigger batch never takes less time and huge ones stay finite") {
  const Machine m = tests::flat_machine(FlopPerSecond(50e9), BytesPerSecond(8e9));
  const Workload w = lenet_workload();
  const Operators operators(m, w.graph, DType::f32, {});
  for (const Op& op : w.graph.ops) {
    for (const Direction d : kDirections) {
      if (!computes(w.graph, op, d)) continue;
      Seconds last;
      for (std::int64_t batch = 1; batch > 0 && batch < (std::int64_t{1} << 60); batch *= 3) {
        const OperatorTime t = operators.time(op, d, batch);
        CHECK(std::isfinite(t.time.value()));
        CHECK(t.time >= last);
        last = t.time;
      }
    }
  }
}

TEST_CASE("outside the table is flagged, inside is not") {
  const Machine m = tests::flat_machine(FlopPerSecond(50e9), BytesPerSecond(8e9));
  const Workload w = mlp_workload();
  const Operators operators(m, w.graph, DType::f32, {});
  const Op& fc1 = op_named(w.graph, "fc1");
  CHECK_FALSE(operators.time(fc1, Direction::forward, 256).extrapolated);
  CHECK(operators.time(fc1, Direction::forward, 5000).extrapolated);
}

TEST_CASE("no call is shorter than a dispatch, none faster than the ceilings") {
  Machine m = tests::flat_machine(FlopPerSecond(50e9), BytesPerSecond(8e9));
  m.dispatch.push_back({.threads = 1, .time = tests::exact(Seconds(1e-3))});
  const Workload w = mlp_workload();
  const Operators slow_calls(m, w.graph, DType::f32, {});
  const OperatorTime t = slow_calls.time(op_named(w.graph, "relu1"), Direction::forward, 1);
  CHECK(t.time == Seconds(1e-3));
  CHECK(bound_by(t) == "dispatch");

  m.dispatch.clear();
  m.bandwidths.push_back({"read", Bytes(1e12), 1, tests::exact(BytesPerSecond(9e9))});
  m.elementwise.push_back({.operation = "relu_forward",
                           .bytes = Bytes(100),
                           .bandwidth = tests::exact(BytesPerSecond(8e9))});
  const Operators bounded(m, w.graph, DType::f32, {});
  const Op& relu = op_named(w.graph, "relu1");
  const double bytes = cost_of(w.graph, relu, Direction::forward, 1024, DType::f32).bytes.value();
  CHECK(bounded.time(relu, Direction::forward, 1024).time.value() >= bytes / 9e9 * (1 - 1e-12));
}

TEST_CASE("a machine without a table: the error names the probe") {
  Machine m = tests::flat_machine(FlopPerSecond(50e9), BytesPerSecond(8e9));
  m.convolution.clear();
  m.name = "m.json";
  CHECK_NOTHROW(Operators(m, mlp_workload().graph, DType::f32, {}));
  try {
    const Workload w = lenet_workload();
    Operators(m, w.graph, DType::f32, {});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.fix().find("plimsoll probe kernel.convolution") != std::string::npos);
    CHECK(error.where() == "m.json");
  }
}
