// How operators are taken apart into what probes measure, on a machine where every table has one
// rate: what a piece should cost is then known by arithmetic.

#include "core/workloads/workloads.hpp"
#include "models/operator/operators.hpp"
#include "tests/catch.hpp"
#include "tests/models/machines.hpp"

using namespace plimsoll;
using namespace plimsoll::models;

namespace {

constexpr double kRate = 50e9, kBandwidth = 8e9;
constexpr Direction kDirections[] = {Direction::forward, Direction::backward_data,
                                     Direction::backward_weights};

Machine flat() { return tests::flat_machine(FlopPerSecond(kRate), BytesPerSecond(kBandwidth)); }

const Op& op_named(const Graph& graph, const std::string& name) {
  for (const Op& op : graph.ops) {
    if (op.name == name) return op;
  }
  FAIL("no operator " << name);
  return graph.ops.front();
}

}  // namespace

TEST_CASE("every operator of every built-in workload is predicted, in both data types") {
  const DType dtype = GENERATE(DType::f32, DType::bf16);
  Machine m = flat();
  const auto f32_matmul = m.matmul;
  const auto f32_convolution = m.convolution;
  for (auto s : f32_matmul) {
    s.dtype = DType::bf16;
    m.matmul.push_back(s);
  }
  for (auto s : f32_convolution) {
    s.dtype = DType::bf16;
    m.convolution.push_back(s);
  }
  for (const WorkloadEntry& entry : workloads()) {
    const Workload w = workload_named(entry.name);
    const Operators operators(m, w.graph, dtype, {});
    for (const Op& op : w.graph.ops) {
      for (const Direction direction : kDirections) {
        INFO(w.name << " " << op.name << " " << to_string(direction));
        const double time = operators.time(op, direction, 8).time.value();
        CHECK((time > 0) == computes(w.graph, op, direction));
        CHECK(std::isfinite(time));
      }
    }
  }
}

TEST_CASE("rows of a linear layer are samples times positions") {
  GraphBuilder a({128, 64}), b({64});
  a.linear("fc", a.input(), 64);
  b.linear("fc", b.input(), 64);
  const Graph sequence = std::move(a).build(), vector = std::move(b).build();
  const auto pieces = pieces_of(sequence, sequence.ops[0], Direction::forward, 8, DType::f32);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].features ==
        pieces_of(vector, vector.ops[0], Direction::forward, 1024, DType::f32)[0].features);
}

TEST_CASE("groups are so many convolutions of their own, depthwise ones windows that are visited") {
  GraphBuilder g({16, 16, 32});
  int x = g.convolution("first", g.input(), 32, 1);
  x = g.convolution("grouped", x, 64, 3, 1, 1, false, 4);
  g.convolution("depthwise", x, 64, 3, 1, 1, false, 64);
  const Graph graph = std::move(g).build();
  const Machine m = flat();
  const Operators operators(m, graph, DType::f32, {});
  for (const Direction direction : kDirections) {
    const Op& grouped = op_named(graph, "grouped");
    const double flop = cost_of(graph, grouped, direction, 64, DType::f32).flop.value();
    INFO(to_string(direction));
    CHECK(operators.time(grouped, direction, 64).time.value() ==
          Approx(flop / kRate).epsilon(0.15));
    const auto pieces = pieces_of(graph, op_named(graph, "depthwise"), direction, 64, DType::f32);
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].table(m, DType::f32).probe == "kernel.pooling");
  }
}

TEST_CASE("attention is its products and the softmax of the scores that are seen") {
  const bool causal = GENERATE(true, false);
  const std::int64_t positions = 128, heads = 4, batch = 8;
  GraphBuilder g({positions, 64});
  const int qkv = g.linear("qkv", g.input(), 3 * 64);
  g.attention("attention", qkv, heads, causal);
  const Graph graph = std::move(g).build();
  const Machine m = flat();
  const Operators operators(m, graph, DType::f32, {});
  const Op& op = op_named(graph, "attention");
  const double rows = static_cast<double>(batch * heads * positions);
  const double product = 2 * rows * static_cast<double>(positions) * 16 / kRate;
  const double seen = rows * (causal ? 64.5 : 128.0);
  CHECK(operators.time(op, Direction::forward, batch).time.value() ==
        Approx(2 * product + 8 * seen / kBandwidth).epsilon(0.1));
  CHECK(operators.time(op, Direction::backward_data, batch).time.value() ==
        Approx(4 * product + 12 * seen / kBandwidth).epsilon(0.1));
}

TEST_CASE("bf16 halves what traffic bounds and nothing that arithmetic does") {
  GraphBuilder g({192});
  int x = g.linear("fc", g.input(), 192);
  x = g.layer_norm("norm", x);
  x = g.relu("relu", x);
  g.add("sum", x, x);
  const Graph graph = std::move(g).build();
  const auto bytes = [&](const char* name, DType dtype) {
    return std::exp2(
        pieces_of(graph, op_named(graph, name), Direction::forward, 64, dtype)[0].features[0]);
  };
  CHECK(bytes("relu", DType::bf16) == Approx(bytes("relu", DType::f32) / 2));
  CHECK(bytes("sum", DType::bf16) == Approx(bytes("sum", DType::f32) / 2));
  CHECK(bytes("norm", DType::bf16) == Approx(bytes("norm", DType::f32)));
}

TEST_CASE("a further gradient of a tensor is one addition") {
  GraphBuilder g({192});
  const int x = g.linear("fc", g.input(), 192);
  const int y = g.relu("relu", x);
  g.add("sum", x, y);
  const Graph graph = std::move(g).build();
  const Machine m = flat();
  const Operators operators(m, graph, DType::f32, {});
  CHECK(operators.accumulation(x, 64).time.value() ==
        Approx(3 * 4.0 * 64 * 192 / kBandwidth).epsilon(0.02));
  CHECK(operators.accumulation(y, 64).time == Seconds(0));
}
