// What eager and async cost more than graph on small layers is what kernel.dispatch says that a
// call adds. The probe's chain is another network than these. A timing: only where asked for, on a
// machine that does nothing else.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <numeric>

#include "core/system/affinity.hpp"
#include "core/system/clock.hpp"
#include "probes/kernel/front_end.hpp"
#include "tests/catch.hpp"
#include "tests/trainer/execution/networks.hpp"
#include "trainer/execution/executor.hpp"

namespace plimsoll::trainer {
namespace {

using namespace testing;

constexpr std::int64_t kBatch = 8;
constexpr int kRounds = 41;

// Small layers in which nothing can be fused: norms, gelus and additions between linear layers.
Graph small_layers() {
  GraphBuilder g({24});
  int x = g.linear("in", g.input(), 12);
  for (int layer = 0; layer < 6; ++layer) {
    const std::string name = "block" + std::to_string(layer);
    const int y = g.linear(name + ".up", g.layer_norm(name + ".norm", x), 20);
    x = g.gelu(name + ".gelu", g.linear(name + ".down", y, 12));
  }
  g.softmax_cross_entropy("loss", g.linear("out", x, 5));
  return std::move(g).build();
}

std::int64_t calls_of(const Graph& graph) {
  std::int64_t calls = 0;
  for (const Op& op : graph.ops) {
    for (const Direction direction :
         {Direction::forward, Direction::backward_data, Direction::backward_weights}) {
      calls += computes(graph, op, direction) ? 1 : 0;
    }
  }
  return calls;
}

class Nobody final : public BackwardListener {
 public:
  void gradients_ready(int) override {}
  void between_kernels() override {}
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

class Steps {
 public:
  Steps(const Graph& graph, const char* mode)
      : backend_(make_cpu_backend(1)),
        layout_(flat_layout(graph, Bytes(1 << 20), 0)),
        executor_(execution_mode(mode).make(graph, *backend_, layout_, {.batches = {kBatch}})) {
    initialise(executor_->weights(), graph, layout_, 3);
    executor_->weights_changed();
    fill(executor_->slots()[0], graph, kBatch, 1);
    (void)time(20);
  }
  double time(int steps) {
    Nobody nobody;
    const Seconds begin = sys::now();
    for (int i = 0; i < steps; ++i) {
      (void)executor_->forward(0, kBatch, {}, Mode::train);
      executor_->backward(0, kBatch, nobody, false);
    }
    return (sys::now() - begin).value() / steps;
  }

 private:
  std::unique_ptr<Backend> backend_;
  FlatLayout layout_;
  std::unique_ptr<Executor> executor_;
};

TEST_CASE("eager and async cost over graph what kernel.dispatch.added says") {
  if (std::getenv("PLIMSOLL_TIMING_TESTS") == nullptr) {
    std::cout << "SKIPPED: a timing; set PLIMSOLL_TIMING_TESTS=1 on an idle machine\n";
    return;
  }
  const std::vector<int> cpus = sys::affinity().ids();
  const sys::ScopedPin pinned(sys::CpuSet{cpus.front()});
  const Graph graph = small_layers();
  const auto calls = static_cast<double>(calls_of(graph));
  Steps compiled(graph, "graph"), eager(graph, "eager"), async(graph, "async");
  probes::ProbeOptions options;
  options.cpus = {cpus.front()};
  probes::Crews crews(options, 1 << 20);
  const auto crew = crews.of({.threads = 1, .busy_cores = 0});
  const std::array probe{probes::front_end_subject(crew, probes::FrontEnd::eager),
                         probes::front_end_subject(crew, probes::FrontEnd::async)};
  std::array<std::vector<double>, 2> added, said;
  for (int round = 0; round < kRounds; ++round) {  // side by side: the machine's speed drifts
    const double base = compiled.time(60);
    added[0].push_back((eager.time(60) - base) / calls);
    added[1].push_back((async.time(60) - base) / calls);
    for (std::size_t i = 0; i < probe.size(); ++i) {
      said[i].push_back(probe[i]->run(60).value() / 60 / probe[i]->work());
    }
  }
  for (std::size_t i = 0; i < probe.size(); ++i) {
    const double measured = median(added[i]), promised = median(said[i]);
    std::cout << (i == 0 ? "eager" : "async") << " adds " << measured * 1e9
              << " ns a call, kernel.dispatch.added says " << promised * 1e9 << " ns\n";
    CHECK(measured > 0);
    CHECK(measured / promised > 0.75);
    CHECK(measured / promised < 1.25);
  }
}

}  // namespace
}  // namespace plimsoll::trainer
