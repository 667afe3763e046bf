// Shapes, parameter counts and costs of operators and built-in workloads, against counts by hand.

#include "core/workload.hpp"

#include <limits>

#include "core/error.hpp"
#include "core/workloads/workloads.hpp"
#include "tests/catch.hpp"

using namespace plimsoll;

namespace {

const Op& op_named(const Graph& graph, const std::string& name) {
  for (const Op& op : graph.ops) {
    if (op.name == name) return op;
  }
  FAIL("no operator " << name);
  return graph.ops.front();
}

double flop(const Graph& graph, const std::string& op, Direction direction, std::int64_t batch) {
  return cost_of(graph, op_named(graph, op), direction, batch, DType::f32).flop.value();
}

}  // namespace

TEST_CASE("mlp has the parameters and shapes of 784-1024-1024-10") {
  const Workload mlp = workload_named("mlp");
  CHECK(parameter_count(mlp.graph) == 784 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 10 + 10);
  CHECK(parameter_count(mlp.graph) == 1863690);  // as the reference implementation in PyTorch
  CHECK(elements(mlp.sample_shape) == 784);
}

TEST_CASE("lenet has the parameters and shapes of multi-GPU from scratch") {
  const Workload lenet = workload_named("lenet");
  CHECK(parameter_count(lenet.graph) == 129068);
  const auto shape_of = [&](const std::string& name) {
    const Op& op = op_named(lenet.graph, name);
    return lenet.graph.tensors[static_cast<std::size_t>(op.output)].shape;
  };
  CHECK(shape_of("conv1") == Shape{26, 26, 20});
  CHECK(shape_of("pool1") == Shape{13, 13, 20});
  CHECK(shape_of("conv2") == Shape{9, 9, 50});
  CHECK(shape_of("pool2") == Shape{4, 4, 50});
  CHECK(shape_of("flatten") == Shape{800});
  CHECK(shape_of("loss") == Shape{});
}

TEST_CASE("FLOP of a linear layer: 2mnk a direction, one addition an output for the bias") {
  const Graph graph = workload_named("mlp").graph;
  const double product = 2.0 * 256 * 784 * 1024;
  CHECK(flop(graph, "fc1", Direction::forward, 256) == product + 256.0 * 1024);
  CHECK(flop(graph, "fc1", Direction::backward_data, 256) == product);
  CHECK(flop(graph, "fc1", Direction::backward_weights, 256) == product + 256.0 * 1024);
}

TEST_CASE("FLOP of a convolution: 2NKCRSPQ a direction") {
  const Graph graph = workload_named("lenet").graph;
  const double product = 2.0 * 64 * 50 * 20 * 5 * 5 * 9 * 9;
  CHECK(flop(graph, "conv2", Direction::backward_data, 64) == product);
  CHECK(flop(graph, "conv2", Direction::forward, 64) == product + 64.0 * 50 * 9 * 9);
}

TEST_CASE("a step of lenet at batch 256 costs 3.394 GFLOP in products") {
  // No input gradient for the first layer; figure published for the PyTorch form of this network.
  const Graph graph = workload_named("lenet").graph;
  double total = 0;
  for (const Op& op : graph.ops) {
    if (op.parameters.empty()) continue;
    total += flop(graph, op.name, Direction::backward_data, 256);  // 2mnk without bias
    total += flop(graph, op.name, Direction::backward_data, 256);
    if (needs_input_gradient(graph, op)) {
      total += flop(graph, op.name, Direction::backward_data, 256);
    }
  }
  CHECK(total == Approx(3.394e9).epsilon(0.001));
}

TEST_CASE("bytes are every operand once; bf16 moves half of them") {
  const Graph graph = workload_named("mlp").graph;
  const Op& fc2 = op_named(graph, "fc2");
  const double operands = 256.0 * 1024 + 1024.0 * 1024 + 256.0 * 1024;
  CHECK(cost_of(graph, fc2, Direction::backward_data, 256, DType::f32).bytes.value() ==
        4 * operands);
  CHECK(cost_of(graph, fc2, Direction::backward_data, 256, DType::bf16).bytes.value() ==
        2 * operands);
  const Op& relu = op_named(graph, "relu1");
  CHECK(cost_of(graph, relu, Direction::backward_data, 256, DType::f32).bytes.value() ==
        4.0 * 3 * 256 * 1024);
  CHECK(cost_of(graph, op_named(graph, "flatten"), Direction::forward, 256, DType::f32)
            .bytes.value() == 0);
}

TEST_CASE("only operators behind the first product need an input gradient") {
  const Graph mlp = workload_named("mlp").graph;
  CHECK_FALSE(needs_input_gradient(mlp, op_named(mlp, "flatten")));
  CHECK_FALSE(needs_input_gradient(mlp, op_named(mlp, "fc1")));  // behind a reshape of the input
  CHECK(needs_input_gradient(mlp, op_named(mlp, "fc2")));
  const Graph lenet = workload_named("lenet").graph;
  CHECK_FALSE(needs_input_gradient(lenet, op_named(lenet, "conv1")));
  CHECK(needs_input_gradient(lenet, op_named(lenet, "conv2")));
}

TEST_CASE("huge batches do not wrap") {
  const Graph graph = workload_named("mlp").graph;
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK(flop(graph, "fc2", Direction::backward_data, huge) == 2.0 * std::pow(2.0, 60));
  const std::int64_t side = std::int64_t{1} << 32;
  CHECK_THROWS_AS(elements({side, side}), Error);
}

TEST_CASE("the builder refuses what does not fit, naming operator and shape") {
  GraphBuilder g({8, 8, 3});
  CHECK_THROWS_WITH(g.linear("fc", 0, 10),
                    Catch::Matchers::Contains("'fc'") && Catch::Matchers::Contains("[8x8x3]"));
  CHECK_THROWS_WITH(g.convolution("conv", 0, 4, 9), Catch::Matchers::Contains("larger"));
  CHECK_THROWS_AS(g.convolution("conv", 0, 4, 3, 0), Error);
  CHECK_THROWS_AS(g.pool("pool", 0, Pool::Mode::max, 2, 0), Error);
  g.relu("twice", 0);
  CHECK_THROWS_WITH(g.relu("twice", 0), Catch::Matchers::Contains("named 'twice'"));
}

TEST_CASE("an unknown workload names the known ones") {
  CHECK_THROWS_WITH(workload_named("alexnet"), Catch::Matchers::Contains("'alexnet'") &&
                                                   Catch::Matchers::Contains("mlp, lenet"));
}
