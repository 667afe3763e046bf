// Small networks, and training them through any executor on made-up numbers.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/workload.hpp"
#include "trainer/execution/executor.hpp"

namespace plimsoll::trainer::testing {

struct Network {
  std::string name;
  Graph graph;
};

[[nodiscard]] Graph mlp_network();
[[nodiscard]] Graph lenet_network();
[[nodiscard]] Graph residual_network();   // batch norms, strides, a projection, tensors read thrice
[[nodiscard]] Graph attention_network();  // embedding, tied head, dropout, layer norms, gelu
[[nodiscard]] std::vector<Network> networks();
// Of operators at random, with branches and joins: the same for the same seed.
[[nodiscard]] Graph random_network(std::uint64_t seed);

using MakeExecutor = std::function<std::unique_ptr<Executor>(
    const Graph&, const Backend&, const FlatLayout&, const ExecutorOptions&)>;

struct Training {
  std::int64_t batch = 8, steps = 20;
  DType dtype = DType::f32;
  int threads = 1;
  int micro_batches = 1;  // a step's gradients add up over so many batches
};
struct Trained {
  std::vector<double> losses;
  std::vector<float> weights, state;
  std::vector<int> ready;  // operators, as backward of the last step told them
  double evaluation = 0;
  std::int64_t correct = 0;
  Flop flop;
  std::vector<MemoryItem> memory;
  bool operator==(const Trained&) const = delete;
};
[[nodiscard]] Trained train(const Graph& graph, const MakeExecutor& make, const Training& how = {});

// Fills a slot with numbers, tokens and labels that depend on `seed` alone.
void fill(const InputSlot& slot, const Graph& graph, std::int64_t batch, std::uint64_t seed);

[[nodiscard]] double largest_relative(const std::vector<double>& a, const std::vector<double>& b);
[[nodiscard]] Bytes bytes_of(const std::vector<MemoryItem>& items, const std::string& name);

}  // namespace plimsoll::trainer::testing
