// Imperative execution: eager and async against the compiled graph, futures, errors, tracing.

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/trainer/execution/networks.hpp"
#include "trainer/backend/imperative/functions.hpp"
#include "trainer/backend/imperative/trace.hpp"
#include "trainer/execution/graph.hpp"

namespace plimsoll::trainer {
namespace {

using namespace testing;
namespace im = imperative;

MakeExecutor mode(const char* name) {
  return [make = execution_mode(name).make](const Graph& g, const Backend& b, const FlatLayout& l,
                                            const ExecutorOptions& o) { return make(g, b, l, o); };
}

void same_bits(const Trained& a, const Trained& b) {
  CHECK(a.losses == b.losses);
  CHECK(std::memcmp(a.weights.data(), b.weights.data(), 4 * a.weights.size()) == 0);
  CHECK(a.state == b.state);
  CHECK(a.ready == b.ready);
  CHECK(a.evaluation == b.evaluation);
  CHECK(a.correct == b.correct);
  CHECK(a.flop.value() == b.flop.value());
}

TEST_CASE("all modes give the same bits over 20 steps") {
  for (const Network& network : networks()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const int micro_batches : {1, 2}) {
        INFO(network.name << " " << to_string(dtype) << " micro-batches " << micro_batches);
        const Training how{.dtype = dtype, .threads = 2, .micro_batches = micro_batches};
        const Trained graph = train(network.graph, mode("graph"), how);
        const Trained eager = train(network.graph, mode("eager"), how);
        same_bits(graph, eager);
        same_bits(graph, train(network.graph, mode("async"), how));
        CHECK(bytes_of(graph.memory, "activations") < bytes_of(eager.memory, "activations"));
      }
    }
  }
}

TEST_CASE("random graphs give the same bits in all modes") {
  for (std::uint64_t seed = 200; seed < 215; ++seed) {
    INFO("seed " << seed);
    const Graph graph = random_network(seed);
    const Training how{.batch = 4, .steps = 3};
    const Trained compiled = train(graph, mode("graph"), how);
    same_bits(compiled, train(graph, mode("eager"), how));
    same_bits(compiled, train(graph, mode("async"), how));
  }
}

// --- The front end by itself ---------------------------------------------------------------------

// A parameter with memory of its own.
class Owned {
 public:
  Owned(std::string name, const Shape& shape, float first = 0.1F)
      : weights_(static_cast<std::size_t>(elements(shape))), gradients_(weights_.size()) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      weights_[i] = first * (static_cast<float>(i % 7) - 3.0F);
    }
    parameter = {.name = std::move(name),
                 .shape = shape,
                 .weight = {.data = weights_.data(), .elements = elements(shape)},
                 .gradient = {.data = gradients_.data(), .elements = elements(shape)}};
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  [[nodiscard]] std::vector<float> gradients() const { return gradients_; }
  [[nodiscard]] std::vector<float> weights() const { return weights_; }
  im::Parameter parameter;

 private:
  std::vector<float> weights_, gradients_;
};

constexpr std::int64_t kBatch = 4;

struct SmallModel {
  Owned w1{"fc1.weight", {6, 5}}, b1{"fc1.bias", {6}}, w2{"fc2.weight", {3, 6}, 0.2F};
  std::vector<float> x = std::vector<float>(kBatch * 5, 0.5F);
  std::vector<std::int32_t> labels = {0, 1, 2, 1};

  im::Tensor operator()(const im::Tensor& input) const {
    im::Tensor h = im::relu(im::linear(input, w1.parameter, &b1.parameter));
    h = im::add(h, im::gelu(h));
    return im::softmax_cross_entropy(im::linear(h, w2.parameter), labels.data());
  }
  [[nodiscard]] im::Tensor input(im::Session& session) {
    return session.input({5}, kBatch, {.data = x.data(), .elements = std::ssize(x)});
  }
};

TEST_CASE("a traced model is the graph of its calls and trains alike") {
  SmallModel model;
  const auto backend = make_cpu_backend(1);
  const auto engine = im::make_inline_engine(*backend);
  im::Session session(*backend, *engine);
  session.begin(Mode::train);
  const Graph graph = im::trace(std::cref(model), model.input(session));
  REQUIRE(graph.ops.size() == 6);
  CHECK(graph.ops[0].name == "fc1");
  CHECK(graph.ops[1].name == "relu1");
  CHECK(graph.ops[3].name == "add1");
  CHECK(graph.ops[0].parameters[1].name == "fc1.bias");
  CHECK(parameter_count(graph) == 6 * 5 + 6 + 3 * 6);

  session.begin(Mode::train);
  const im::Tensor loss = model(model.input(session));
  const double eager_loss = loss.sum();
  session.backward(loss);

  const FlatLayout layout = flat_layout(graph, Bytes(1 << 20), 0);
  const auto executor = make_graph_executor(graph, *backend, layout, {.batches = {kBatch}});
  const std::array all{&model.w1, &model.b1, &model.w2};
  for (std::size_t p = 0; p < all.size(); ++p) {
    const std::vector<float> weights = all[p]->weights();
    std::copy(weights.begin(), weights.end(),
              executor->weights().begin() + layout.parameters[p].begin);
  }
  executor->weights_changed();
  std::copy(model.x.begin(), model.x.end(), executor->slots()[0].x);
  std::copy(model.labels.begin(), model.labels.end(), executor->slots()[0].labels);
  CHECK(executor->forward(0, kBatch, {}, Mode::train) == eager_loss);
  class Nobody final : public BackwardListener {
    void gradients_ready(int) override {}
    void between_kernels() override {}
  } nobody;
  executor->backward(0, kBatch, nobody, false);
  for (std::size_t p = 0; p < all.size(); ++p) {
    const auto begin = executor->gradients().begin() + layout.parameters[p].begin;
    CHECK(std::vector<float>(begin, begin + layout.parameters[p].size()) == all[p]->gradients());
  }
}

TEST_CASE("what cannot be traced is refused by name") {
  SmallModel model;
  const auto backend = make_cpu_backend(1);
  const auto engine = im::make_inline_engine(*backend);
  im::Session session(*backend, *engine);
  session.begin(Mode::train);
  CHECK_THROWS_WITH(
      im::trace([](const im::Tensor& x) { return im::relu(x); }, model.input(session)),
      Catch::Matchers::Contains("not a loss"));
  session.begin(Mode::train);
  const auto twice = [&](const im::Tensor& x) {
    (void)im::linear(x, model.w1.parameter);
    return im::softmax_cross_entropy(im::linear(x, model.w1.parameter), model.labels.data());
  };
  CHECK_THROWS_WITH(im::trace(twice, model.input(session)),
                    Catch::Matchers::Contains("shares parameter 'fc1.weight'"));
}

TEST_CASE("calls of one operator and shape share one primitive, and memory is used again") {
  SmallModel model;
  const auto backend = make_cpu_backend(1);
  const auto engine = im::make_inline_engine(*backend);
  im::Session session(*backend, *engine);
  std::int64_t recipes = 0, misses = 0;
  for (int step = 0; step < 5; ++step) {
    session.begin(Mode::train);
    session.backward(model(model.input(session)));
    if (step == 1) {
      recipes = session.recipes().misses();
      misses = session.allocator().misses();
    }
  }
  CHECK(session.recipes().misses() == recipes);
  CHECK(session.allocator().misses() == misses);
  CHECK(session.allocator().in_use() == 0);
}

TEST_CASE("a queued value is a future") {
  SmallModel model;
  const auto backend = make_cpu_backend(1);
  const auto engine = im::make_queue_engine(*backend, 1);
  im::Session session(*backend, *engine);
  session.begin(Mode::train);
  std::atomic<bool> called = false, released = false;
  std::thread::id where;
  // Holds the executor's thread, so that nothing behind can be done.
  engine->then(0, [&] {
    while (!released) std::this_thread::yield();
  });
  const im::Tensor loss = model(model.input(session));
  CHECK_FALSE(loss.ready());
  loss.then([&] {
    where = std::this_thread::get_id();
    called = true;
  });
  released = true;
  CHECK(loss.sum() > 0);
  CHECK(loss.ready());
  engine->wait(0);
  while (!called) std::this_thread::yield();
  CHECK(where != std::this_thread::get_id());
}

// Kernels of one operator fail when they run.
class FailingBackend final : public Backend {
 public:
  explicit FailingBackend(std::string op) : op_(std::move(op)) {}
  [[nodiscard]] std::string name() const override { return "failing"; }
  [[nodiscard]] Bytes workspace(const Graph& g, const Op& op, std::int64_t batch,
                                DType dtype) const override {
    return real_->workspace(g, op, batch, dtype);
  }
  [[nodiscard]] std::unique_ptr<Kernel> make(const Graph& graph, const Op& op, Direction direction,
                                             const Operands& operands) const override {
    if (kind_of(op) == op_) throw Error("out of order", "test backend", "none");
    return real_->make(graph, op, direction, operands);
  }
  [[nodiscard]] std::unique_ptr<Kernel> make_accumulate(const View& a,
                                                        const View& b) const override {
    return real_->make_accumulate(a, b);
  }
  [[nodiscard]] std::unique_ptr<Kernel> make_convert(const View& a, const View& b) const override {
    return real_->make_convert(a, b);
  }

 private:
  std::string op_;
  std::unique_ptr<Backend> real_ = make_cpu_backend(1);
};

TEST_CASE("an operator's error comes out where its value is waited for, with its name") {
  SmallModel model;
  const FailingBackend backend("gelu");
  const auto engine = im::make_queue_engine(backend, 1);
  im::Session session(backend, *engine);
  session.begin(Mode::train);
  im::Tensor h = im::relu(im::linear(model.input(session), model.w1.parameter));
  const im::Tensor before = h;
  const im::Tensor wrong = im::gelu(h);
  const im::Tensor after = im::add(wrong, h);  // queued, though what it reads is never there
  CHECK_NOTHROW(before.wait());
  CHECK_THROWS_WITH(after.values(), Catch::Matchers::Contains("out of order"));
  // The error is told once; the session goes on.
  session.begin(Mode::train);
  CHECK_NOTHROW(im::relu(model.input(session)).values());
  session.begin(Mode::train);
  const im::Tensor again = im::gelu(model.input(session));
  try {
    again.wait();
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.where().find("operator 'gelu1' (gelu, forward)") != std::string::npos);
  }
  // Eager throws at the call.
  const auto at_once = im::make_inline_engine(backend);
  im::Session eager(backend, *at_once);
  eager.begin(Mode::train);
  CHECK_THROWS_WITH(im::gelu(model.input(eager)), Catch::Matchers::Contains("out of order"));
}

TEST_CASE("shapes that do not fit are refused at the call") {
  SmallModel model;
  const auto backend = make_cpu_backend(1);
  const auto engine = im::make_queue_engine(*backend, 1);
  im::Session session(*backend, *engine);
  session.begin(Mode::train);
  CHECK_THROWS_WITH(im::linear(model.input(session), model.w2.parameter),
                    Catch::Matchers::Contains("'fc2.weight' is for 6 inputs and gets 5"));
  CHECK_THROWS_WITH(im::attention(model.input(session), 2),
                    Catch::Matchers::Contains("attention1"));
}

}  // namespace
}  // namespace plimsoll::trainer
