// How a graph is run on one rank. An executor owns the memory of the network (weights, gradients,
// activations, input slots) and knows nothing of other ranks or of what is trained.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "trainer/backend/backend.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/execution/flat_layout.hpp"

namespace plimsoll::trainer {

// Told by backward() as it goes; what it does there happens on the same core.
class BackwardListener {
 public:
  virtual ~BackwardListener() = default;
  // All parameter gradients of this operator are final.
  virtual void gradients_ready(int op) = 0;
  // A kernel has ended and the next one has not begun.
  virtual void between_kernels() = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;

  [[nodiscard]] virtual std::vector<InputSlot> slots() const = 0;
  [[nodiscard]] virtual std::span<float> weights() = 0;    // as FlatLayout says
  [[nodiscard]] virtual std::span<float> gradients() = 0;  // likewise; sums over the batch

  // Running means and the like, f32, by Op::state in graph order; empty when there is none.
  [[nodiscard]] virtual std::span<float> state() = 0;

  // Tells that weights() were changed: whatever was derived from them (bf16 copies) is renewed.
  virtual void weights_changed() = 0;
  // Runs the batch of a slot up to the losses and returns their sum; 0 for an empty batch.
  [[nodiscard]] virtual double forward(int slot, std::int64_t batch, const StepState& step,
                                       Mode mode) = 0;
  // Of the batch that went forward last, in Mode::train. Afterwards the gradients hold the sums
  // over this batch (zeros for an empty one), or, with `accumulate`, those added to what was there.
  virtual void backward(int slot, std::int64_t batch, BackwardListener& listener,
                        bool accumulate) = 0;
  // Of the batch that went forward last: rows whose largest output is at their label; of a
  // sequence each position is a row.
  [[nodiscard]] virtual std::int64_t correct(int slot, std::int64_t batch) const = 0;

  // What the kernels of forward and backward count for a batch.
  [[nodiscard]] virtual Flop flop(std::int64_t batch) const = 0;
  // "fc1.forward" -> kernel chosen, for the largest batch.
  [[nodiscard]] virtual std::map<std::string, std::string> implementations() const = 0;
  [[nodiscard]] virtual std::vector<MemoryItem> memory() const = 0;
};

struct ExecutorOptions {
  // Local sizes that will come, of training and of evaluation; zeros are ignored.
  std::vector<std::int64_t> batches, evaluation_batches;
  int slots = 1;
  DType dtype = DType::f32;  // of activations and of the weights that kernels read
  int threads = 1;
};

// Operator by operator, each waited for: what a call costs beside its kernel is paid at every call.
[[nodiscard]] std::unique_ptr<Executor> make_eager_executor(const Graph& graph,
                                                            const Backend& backend,
                                                            const FlatLayout& layout,
                                                            const ExecutorOptions& options);

// The same calls, queued to a thread of the executor's own that takes the place of the caller's
// team; the caller sleeps where it reads a value.
[[nodiscard]] std::unique_ptr<Executor> make_async_executor(const Graph& graph,
                                                            const Backend& backend,
                                                            const FlatLayout& layout,
                                                            const ExecutorOptions& options);

// Compiled once, then replayed: graph.hpp.
[[nodiscard]] std::unique_ptr<Executor> make_graph_executor(const Graph& graph,
                                                            const Backend& backend,
                                                            const FlatLayout& layout,
                                                            const ExecutorOptions& options);

struct ExecutionMode {
  const char* name;  // of Plan::execution
  std::unique_ptr<Executor> (*make)(const Graph&, const Backend&, const FlatLayout&,
                                    const ExecutorOptions&);
};
[[nodiscard]] std::span<const ExecutionMode> execution_modes();
// Error (usage) that lists the known names when `name` is unknown.
[[nodiscard]] const ExecutionMode& execution_mode(const std::string& name);

// Weights of products are uniform in +-1 / sqrt(fan_in), as the layers of PyTorch start, divided by
// the square root of the number of additions in the graph when an addition reads their output, as
// GPT-2 does; embeddings have deviation 0.02; biases are 0, the weights of norms 1. Element i of
// parameter p depends on (seed, p, i) alone: all ranks of any world size start alike.
void initialise(std::span<float> weights, const Graph& graph, const FlatLayout& layout,
                std::uint64_t seed);

}  // namespace plimsoll::trainer
