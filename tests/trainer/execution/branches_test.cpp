// How graphs are run: branches, shared memory, fused operators; the same numbers in every mode.

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "trainer/execution/executor.hpp"

namespace plimsoll::trainer {
namespace {

constexpr std::int64_t kBatch = 6;

class Nobody final : public BackwardListener {
 public:
  void gradients_ready(int) override {}
  void between_kernels() override {}
};

// Two residual blocks with norms, one of them with a projection, and x + x.
Graph residual() {
  GraphBuilder g({6, 6, 3});
  int x = g.relu("relu0", g.batch_norm("norm0", g.convolution("conv0", g.input(), 8, 3, 1, 1)));
  int y = g.relu("relu1", g.batch_norm("norm1", g.convolution("conv1", x, 8, 3, 1, 1, false)));
  x = g.relu("relu2",
             g.add("add2", g.batch_norm("norm2", g.convolution("conv2", y, 8, 3, 1, 1)), x));
  const int skip = g.convolution("project", x, 16, 1, 2);
  y = g.relu("relu3", g.convolution("conv3", x, 16, 3, 2, 1));
  x = g.add("add3", skip, y);
  x = g.add("double", x, x);
  x = g.flatten("flatten", g.pool("pool", x, Pool::Mode::average, 3, 3));
  g.softmax_cross_entropy("loss", g.linear("fc", x, 5));
  return std::move(g).build();
}

Graph attention() {
  GraphBuilder g({8}, true);
  int x = g.embedding("embedding", g.input(), 11, 12);
  for (const std::string n : {"0", "1"}) {
    const int qkv = g.linear("qkv" + n, g.layer_norm("ln" + n, x), 36);
    x = g.add("add" + n, x, g.linear("out" + n, g.attention("attention" + n, qkv, 3), 12));
    const int up = g.gelu("gelu" + n, g.linear("up" + n, g.layer_norm("ln_mlp" + n, x), 24));
    x = g.add("add_mlp" + n, x, g.dropout("drop" + n, g.linear("down" + n, up, 12), 0.25));
  }
  g.softmax_cross_entropy("loss", g.tied_linear("head", g.layer_norm("ln", x), "embedding"));
  return std::move(g).build();
}

// The input branches at once; a chain of element-wise operators over a shared gradient.
Graph shared_gradients() {
  GraphBuilder g({7});
  const int a = g.linear("a", g.input(), 9);
  const int b = g.relu("b", a);
  const int c = g.gelu("c", b);
  const int d = g.add("d", b, c);
  const int e = g.relu("e", g.add("add_e", d, a));
  g.softmax_cross_entropy("loss", g.linear("fc", g.add("f", e, d), 4));
  return std::move(g).build();
}

// One rank's network, filled with made-up weights and one batch.
struct Run {
  Run(const Graph& graph,
      std::unique_ptr<Executor> (*make)(const Graph&, const Backend&, const FlatLayout&,
                                        const ExecutorOptions&),
      DType dtype = DType::f32)
      : layout(flat_layout(graph, Bytes(1e6), 0)),
        backend(make_cpu_backend(1)),
        executor(make(graph, *backend, layout,
                      {.batches = {kBatch, kBatch / 2},
                       .evaluation_batches = {kBatch},
                       .slots = 1,
                       .dtype = dtype})) {
    initialise(executor->weights(), graph, layout, 3);
    executor->weights_changed();
    std::mt19937 random(5);
    const InputSlot slot = executor->slots().front();
    const std::int64_t count = kBatch * elements(graph.tensors.front().shape);
    const std::int64_t classes =
        graph.tensors[static_cast<std::size_t>(graph.ops.back().inputs[0])].shape.back();
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::uniform_int_distribution<std::int32_t> label(0, static_cast<std::int32_t>(classes) - 1);
    for (std::int64_t i = 0; i < count; ++i) {
      if (slot.tokens != nullptr) {
        slot.tokens[i] = label(random);
      } else {
        slot.x[i] = uniform(random);
      }
    }
    const std::int64_t rows = slot.tokens != nullptr ? count : kBatch;
    for (std::int64_t i = 0; i < rows; ++i) slot.labels[i] = label(random);
  }

  double forward(std::int64_t batch = kBatch, Mode mode = Mode::train) const {
    return executor->forward(0, batch, {.seed = 9, .step = 4, .first_sample = 0}, mode);
  }
  std::vector<float> gradients(bool accumulate = false, std::int64_t batch = kBatch) const {
    Nobody nobody;
    executor->backward(0, batch, nobody, accumulate);
    const auto all = executor->gradients();
    return {all.begin(), all.end()};
  }

  FlatLayout layout;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Executor> executor;
};

TEST_CASE("gradients of branching graphs are the slopes of the loss") {
  for (const Graph& graph : {residual(), attention(), shared_gradients()}) {
    for (const auto make : {make_eager_executor, make_graph_executor}) {
      const Run run(graph, make);
      (void)run.forward();
      const std::vector<float> gradient = run.gradients();
      const auto weights = run.executor->weights();
      std::int64_t checked = 0, far = 0;
      for (std::size_t p = 0; p < run.layout.parameters.size(); ++p) {
        const Range& range = run.layout.parameters[p];
        std::int64_t of_this = 0, far_of_this = 0;
        for (std::int64_t i = range.begin; i < range.end; i += 1 + range.size() / 12) {
          float& weight = weights[static_cast<std::size_t>(i)];
          const float before = weight;
          constexpr float kStep = 1.0F / 512;
          const auto loss_at = [&](float value) {
            weight = value;
            run.executor->weights_changed();
            return run.forward();
          };
          const double slope = (loss_at(before + kStep) - loss_at(before - kStep)) / (2 * kStep);
          (void)loss_at(before);
          const double given = gradient[static_cast<std::size_t>(i)];
          ++checked;
          // f32 losses over a small step, and kinks of relus: most agree closely.
          ++of_this;
          far_of_this += std::abs(given - slope) > 0.01 + 0.02 * std::abs(slope) ? 1 : 0;
        }
        INFO("parameter " << p);
        CHECK(2 * far_of_this <= of_this);  // no parameter is wrong as a whole
        far += far_of_this;
      }
      CHECK(checked > 30);
      CHECK(far <= checked / 10);
    }
  }
}

TEST_CASE("eager and graph execution give the same losses, bit for bit") {
  const DType dtype = GENERATE(DType::f32, DType::bf16);
  for (const Graph& graph : {residual(), attention(), shared_gradients()}) {
    const Run eager(graph, make_eager_executor, dtype), fused(graph, make_graph_executor, dtype);
    for (int step = 0; step < 20; ++step) {
      REQUIRE(eager.forward() == fused.forward());
      REQUIRE(eager.gradients() == fused.gradients());
      for (const Run* run : {&eager, &fused}) {
        const auto weights = run->executor->weights();
        const auto slopes = run->executor->gradients();
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.01F * slopes[i];
        run->executor->weights_changed();
      }
    }
    CHECK(eager.forward(kBatch, Mode::evaluate) == fused.forward(kBatch, Mode::evaluate));
    CHECK(eager.executor->correct(0, kBatch) == fused.executor->correct(0, kBatch));
    CHECK(eager.executor->flop(kBatch).value() == fused.executor->flop(kBatch).value());
    CHECK(eager.executor->flop(kBatch).value() == training_cost(graph, kBatch, dtype).flop.value());
  }
}

TEST_CASE("accumulated gradients are the sum of those of the micro-batches") {
  for (const auto make : {make_eager_executor, make_graph_executor}) {
    const Graph graph = attention();
    const Run run(graph, make);
    (void)run.forward();
    const std::vector<float> once = run.gradients();
    (void)run.forward();
    const std::vector<float> twice = run.gradients(true);
    std::int64_t wrong = 0, nonzero = 0;
    for (std::size_t i = 0; i < once.size(); ++i) {
      nonzero += once[i] != 0.0F ? 1 : 0;
      wrong += twice[i] != once[i] + once[i] ? 1 : 0;
    }
    CHECK(nonzero > 500);
    CHECK(wrong == 0);
  }
}

}  // namespace
}  // namespace plimsoll::trainer
