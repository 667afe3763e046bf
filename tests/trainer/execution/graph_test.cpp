// Compiled execution: same numbers as operator by operator, less memory, nothing overwritten.

#include <cstring>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/trainer/execution/networks.hpp"
#include "trainer/execution/graph.hpp"
#include "trainer/execution/liveness.hpp"

namespace plimsoll::trainer {
namespace {

using namespace testing;

MakeExecutor graph_executor(bool fuse) {
  return [fuse](const Graph& graph, const Backend& backend, const FlatLayout& layout,
                const ExecutorOptions& options) {
    return make_graph_executor(graph, backend, layout, options, GraphOptions{.fuse = fuse});
  };
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

TEST_CASE("graph gives the bits of eager") {
  for (const Network& network : networks()) {
    for (const int micro_batches : {1, 3}) {
      for (const int threads : {1, 2}) {
        INFO(network.name << " micro-batches " << micro_batches << " threads " << threads);
        const Training how{.threads = threads, .micro_batches = micro_batches};
        const Trained eager = train(network.graph, make_eager_executor, how);
        CHECK(eager.losses.back() < eager.losses.front());
        CHECK(eager.flop.value() ==
              training_cost(network.graph, how.batch, DType::f32).flop.value());
        same_bits(eager, train(network.graph, graph_executor(false), how));
        same_bits(eager, train(network.graph, graph_executor(true), how));
      }
    }
  }
}

TEST_CASE("graph gives the bits of eager in bf16") {
  for (const Network& network : networks()) {
    INFO(network.name);
    const Training how{.dtype = DType::bf16};
    const Trained eager = train(network.graph, make_eager_executor, how);
    same_bits(eager, train(network.graph, graph_executor(false), how));
    same_bits(eager, train(network.graph, graph_executor(true), how));
  }
}

TEST_CASE("graph gives the bits of eager on random graphs, in less memory") {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    INFO("seed " << seed);
    const Graph graph = random_network(seed);
    const Training how{.batch = 4, .steps = 3};
    const Trained eager = train(graph, make_eager_executor, how);
    const Trained compiled = train(graph, graph_executor(true), how);
    same_bits(eager, compiled);
    CHECK(bytes_of(compiled.memory, "activations") < bytes_of(eager.memory, "activations"));
  }
}

// --- Liveness, checked without the planner's own code
// ---------------------------------------------

// Every byte of an arena with the buffer that owns it: plays the program step by step.
std::string overwritten(const Program& program) {
  std::vector<int> owner(static_cast<std::size_t>(program.arena_bytes), -1);
  for (int s = 0; s < static_cast<int>(program.steps.size()); ++s) {
    for (int b = 0; b < static_cast<int>(program.buffers.size()); ++b) {
      const ProgramBuffer& one = program.buffers[static_cast<std::size_t>(b)];
      const auto begin = static_cast<std::size_t>(one.offset);
      const auto end = begin + static_cast<std::size_t>(one.bytes());
      if (end > owner.size()) return one.name + " is outside of the arena";
      if (one.first == s)
        std::fill(owner.begin() + one.offset, owner.begin() + one.offset + one.bytes(), b);
      if (one.first <= s && s <= one.last) {
        for (std::size_t i = begin; i < end; ++i) {
          if (owner[i] != b) return one.name + " at step " + std::to_string(s);
        }
      }
    }
    const ProgramStep& step = program.steps[static_cast<std::size_t>(s)];
    for (const int used : {step.x, step.x2, step.y, step.dx, step.dy, step.workspace, step.dw}) {
      if (used < 0) continue;
      const ProgramBuffer& one = program.buffers[static_cast<std::size_t>(used)];
      if (s < one.first || s > one.last) return one.name + " is used outside of its life";
    }
  }
  return "";
}

TEST_CASE("no live buffer is overwritten") {
  const auto backend = make_cpu_backend(1);
  std::vector<Graph> graphs;
  for (Network& network : networks()) graphs.push_back(std::move(network.graph));
  for (std::uint64_t seed = 100; seed < 160; ++seed) graphs.push_back(random_network(seed));
  for (const Graph& graph : graphs) {
    for (const Mode mode : {Mode::train, Mode::evaluate}) {
      const Program program = compile(graph, *backend, {.batch = 2, .mode = mode});
      CHECK(overwritten(program).empty());
      std::vector<Lifetime> lifetimes;
      std::int64_t sum = 0;
      for (const ProgramBuffer& one : program.buffers) {
        lifetimes.push_back({one.bytes(), one.first, one.last});
        sum += one.bytes();
      }
      CHECK(program.arena_bytes < sum);
      CHECK(program.arena_bytes >= most_alive(lifetimes));
      CHECK(static_cast<double>(program.arena_bytes) <=
            1.25 * static_cast<double>(most_alive(lifetimes)));
    }
  }
}

TEST_CASE("the check of overwriting notices a buffer in the wrong place") {
  const auto backend = make_cpu_backend(1);
  Program program = compile(residual_network(), *backend, {.batch = 2});
  for (std::size_t i = 1; i < program.buffers.size(); ++i) {
    if (program.buffers[i].first > program.buffers[0].last) continue;
    program.buffers[i].offset = program.buffers[0].offset;
    break;
  }
  CHECK_FALSE(overwritten(program).empty());
}

TEST_CASE("what is fused") {
  const auto backend = make_cpu_backend(1);
  const auto fused = [&](const Graph& graph, const std::string& name, Mode mode) {
    const Program program = compile(graph, *backend, {.batch = 2, .mode = mode});
    std::string all;
    for (const ProgramStep& step : program.steps) {
      if (step.op < 0 || graph.ops[static_cast<std::size_t>(step.op)].name != name) continue;
      if (step.direction != Direction::forward) continue;
      for (const int op : step.fused) {
        all += (all.empty() ? "" : " ") + graph.ops[static_cast<std::size_t>(op)].name;
      }
    }
    return all;
  };
  CHECK(fused(mlp_network(), "fc1", Mode::train) == "relu1");
  CHECK(fused(mlp_network(), "fc3", Mode::train).empty());
  CHECK(fused(lenet_network(), "conv2", Mode::train) == "relu2");
  CHECK(fused(residual_network(), "a.add", Mode::train) == "a.out");
  const Graph attention = attention_network();
  CHECK(fused(attention, "block0.project", Mode::train) == "block0.add1");
  CHECK(fused(attention, "block0.up", Mode::train).empty());  // backward needs what gelu reads
  CHECK(fused(attention, "block0.up", Mode::evaluate) == "block0.gelu");
  CHECK(fused(attention, "block0.down", Mode::train).empty());  // dropout stands between
}

}  // namespace
}  // namespace plimsoll::trainer
