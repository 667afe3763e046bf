// Counts that other tools got wrong, against golden figures: groups counted twice or never,
// look-ups counted as products, tied products dropped, backward taken for twice forward. Convention
// of the figures: a multiply-add is 2; biases, softmax and activations apart.

#include <cmath>

#include "core/error.hpp"
#include "core/workload.hpp"
#include "tests/catch.hpp"

using namespace plimsoll;

namespace {

constexpr Direction kDirections[] = {Direction::forward, Direction::backward_data,
                                     Direction::backward_weights};

double flop(const Graph& graph, std::size_t op, Direction direction, std::int64_t batch = 1) {
  return cost_of(graph, graph.ops[op], direction, batch, DType::f32).flop.value();
}
double bytes(const Graph& graph, std::size_t op, Direction direction, DType dtype,
             std::int64_t batch = 1) {
  return cost_of(graph, graph.ops[op], direction, batch, dtype).bytes.value();
}

struct Grouped {
  std::int64_t in, out, groups, stride, side_out, parameters;
  double flop;
};

}  // namespace

TEST_CASE("grouped, depthwise and strided convolutions: the same product in every direction") {
  const Grouped cases[] = {{32, 64, 1, 1, 14, 18432, 14450688},
                           {32, 64, 4, 1, 14, 4608, 3612672},
                           {32, 32, 32, 1, 14, 288, 225792},
                           {32, 64, 1, 2, 7, 18432, 3612672}};
  for (const Grouped& c : cases) {
    GraphBuilder g({14, 14, c.in});
    const int y = g.convolution("conv", g.input(), c.out, 3, c.stride, 1, false, c.groups);
    const Graph graph = std::move(g).build();
    INFO(c.groups << " groups, stride " << c.stride);
    CHECK(graph.tensors[static_cast<std::size_t>(y)].shape == Shape{c.side_out, c.side_out, c.out});
    CHECK(parameter_count(graph) == c.parameters);
    for (const Direction direction : kDirections) CHECK(flop(graph, 0, direction, 2) == c.flop);
  }
  GraphBuilder g({14, 14, 30});
  CHECK_THROWS_WITH(g.convolution("conv", 0, 64, 3, 1, 1, false, 4),
                    Catch::Matchers::Contains("4 groups") && Catch::Matchers::Contains("30"));
}

TEST_CASE("an embedding is a look-up, and the output product counts once, tied or not") {
  constexpr std::int64_t kTokens = 32, kHidden = 64, kVocabulary = 1000;
  for (const bool tied : {true, false}) {
    GraphBuilder g({kTokens}, true);
    const int x = g.embedding("table", g.input(), kVocabulary, kHidden, false);
    const int y =
        tied ? g.tied_linear("head", x, "table") : g.linear("head", x, kVocabulary, false);
    g.softmax_cross_entropy("loss", y);
    const Graph graph = std::move(g).build();
    INFO((tied ? "tied" : "untied"));
    CHECK(flop(graph, 0, Direction::forward) == 0);
    // Rows that are read, and as many written; 4 bytes a token.
    CHECK(bytes(graph, 0, Direction::forward, DType::bf16) == 2 * 4096 + 4 * kTokens);
    CHECK(flop(graph, 1, Direction::forward) == 4096000);
    CHECK(flop(graph, 1, Direction::backward_data) + flop(graph, 1, Direction::backward_weights) ==
          8192000);
    CHECK(computes(graph, graph.ops[1], Direction::backward_weights));
    CHECK(parameter_count(graph) == (tied ? 64000 : 128000));
    CHECK_FALSE(computes(graph, graph.ops[0], Direction::backward_data));
  }
}

TEST_CASE("backward is not twice forward where the first layer needs no input gradient") {
  GraphBuilder g({64});
  int x = g.linear("a", g.input(), 128, false);
  x = g.linear("b", x, 128, false);
  g.linear("c", x, 32, false);
  const Graph graph = std::move(g).build();
  const double forward[] = {524288, 1048576, 262144};
  double backward = 0, with_input_gradient = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(flop(graph, i, Direction::forward, 32) == forward[i]);
    for (const Direction d : {Direction::backward_data, Direction::backward_weights}) {
      with_input_gradient += flop(graph, i, d, 32);
      if (computes(graph, graph.ops[i], d)) backward += flop(graph, i, d, 32);
    }
  }
  CHECK(backward == 3145728);
  CHECK(with_input_gradient == 3670016);
  CHECK(training_cost(graph, 32, DType::f32).flop.value() == 1835008 + 3145728);
}

TEST_CASE("attention: two products forward and four backward, of whole matrices or of blocks") {
  const auto attention = [](std::int64_t positions, std::int64_t features, std::int64_t heads,
                            bool causal) {
    GraphBuilder g({positions, 3 * features});
    g.attention("attention", g.input(), heads, causal);
    return std::move(g).build();
  };
  for (const bool causal : {true, false}) {
    const Graph graph = attention(32, 32, 1, causal);
    const double scores = 32.0 * 32;
    CHECK(flop(graph, 0, Direction::forward) == 131072 + 6 * scores);
    CHECK(flop(graph, 0, Direction::backward_data) == 262144 + 5 * scores);
    CHECK(flop(graph, 0, Direction::backward_weights) == 0);
  }
  // Heads cut features, not products. Long causal sequences leave out what no query sees.
  const double whole = flop(attention(1024, 64, 1, false), 0, Direction::forward);
  CHECK(flop(attention(1024, 64, 4, false), 0, Direction::forward) - 4 * 6.0 * 1024 * 1024 ==
        whole - 6.0 * 1024 * 1024);
  CHECK(flop(attention(1024, 64, 1, true), 0, Direction::forward) == whole * 36 / 64);
}

TEST_CASE("what is f32 in a bf16 run counts as f32: losses and gradients of parameters") {
  GraphBuilder g({7});
  const int x = g.linear("fc", g.input(), 5);
  g.softmax_cross_entropy("loss", x);
  const Graph graph = std::move(g).build();
  CHECK(bytes(graph, 0, Direction::forward, DType::bf16, 3) == 2 * (3 * 7 + 3 * 5 + 35 + 5));
  CHECK(bytes(graph, 0, Direction::backward_weights, DType::bf16, 3) ==
        2 * (3 * 7 + 3 * 5) + 4 * (35 + 5));
  CHECK(bytes(graph, 1, Direction::forward, DType::bf16, 3) == 2 * 3 * 5 + 4 * 3 + 4 * 3);
  CHECK(bytes(graph, 1, Direction::backward_data, DType::bf16, 3) == 2 * 2 * 3 * 5 + 4 * 3);
}

TEST_CASE("a residual's gradients add up: one addition an element and further reader") {
  GraphBuilder g({4, 4, 8});
  const int x = g.convolution("conv", g.input(), 8, 3, 1, 1);
  const int y = g.relu("relu", g.batch_norm("norm", x));
  const int sum = g.add("sum", y, x);
  g.softmax_cross_entropy("loss", g.flatten("flat", sum));
  const Graph graph = std::move(g).build();
  CHECK(gradient_contributions(graph, x) == 2);
  CHECK(gradient_contributions(graph, y) == 1);
  CHECK(gradient_contributions(graph, graph.input) == 0);
  CHECK(accumulation_cost(graph, x, 3, DType::f32).flop.value() == 3 * 128);
  CHECK(accumulation_cost(graph, x, 3, DType::bf16).bytes.value() == 2 * 3 * 3 * 128);
  CHECK(accumulation_cost(graph, y, 3, DType::f32).bytes.value() == 0);
  CHECK_FALSE(computes(graph, graph.ops[3], Direction::backward_data));  // a sum hands on
}

TEST_CASE("padding: what pads no more than its kernel, and shapes that follow") {
  GraphBuilder g({56, 56, 64});
  const int y = g.pool("pool", g.input(), Pool::Mode::max, 3, 2, 1);
  CHECK_THROWS_AS(g.pool("wide", g.input(), Pool::Mode::max, 3, 2, 3), Error);
  const Graph graph = std::move(g).build();
  CHECK(graph.tensors[static_cast<std::size_t>(y)].shape == Shape{28, 28, 64});
}
