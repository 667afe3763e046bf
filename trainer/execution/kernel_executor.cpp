// Runs kernels that were made ahead, one set for each batch size and mode: one after the other,
// each finished before the next begins. `eager` and `graph` differ in how the graph was compiled.

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "trainer/execution/executor.hpp"
#include "trainer/execution/kernel_set.hpp"

namespace plimsoll::trainer {
namespace {

class KernelExecutor final : public Executor {
 public:
  KernelExecutor(const Graph& graph, const Backend& backend, const FlatLayout& layout,
                 const ExecutorOptions& options, Compilation compilation);

  [[nodiscard]] std::vector<InputSlot> slots() const override { return memory_.slots(); }
  [[nodiscard]] std::span<float> weights() override { return memory_.weights(); }
  [[nodiscard]] std::span<float> gradients() override { return memory_.gradients(); }
  [[nodiscard]] std::span<float> state() override { return memory_.state(); }
  void weights_changed() override;
  [[nodiscard]] double forward(int slot, std::int64_t batch, const StepState& step,
                               Mode mode) override;
  void backward(int slot, std::int64_t batch, BackwardListener& listener, bool accumulate) override;
  [[nodiscard]] std::int64_t correct(int slot, std::int64_t batch) const override;
  [[nodiscard]] Flop flop(std::int64_t batch) const override;
  [[nodiscard]] std::map<std::string, std::string> implementations() const override;
  [[nodiscard]] std::vector<MemoryItem> memory() const override;

 private:
  void make_sets(const Backend& backend, const std::vector<std::int64_t>& batches, Mode mode);
  [[nodiscard]] const KernelSet& kernels(std::int64_t batch, Mode mode) const;
  void keep_gradients();
  void add_kept(int op);
  void backward_of_nothing(BackwardListener& listener, bool accumulate);

  const Graph& graph_;
  const FlatLayout& layout_;
  const Compilation compilation_;
  NetworkMemory memory_;
  std::map<std::pair<std::int64_t, Mode>, KernelSet> sets_;
  std::vector<std::unique_ptr<Kernel>> half_copies_;  // of the weights, in bf16
  std::vector<float> kept_;  // gradients of earlier micro-batches, while one more is computed
};

void check(const Graph& graph) {
  expects(!graph.ops.empty(), "a graph has operators");
  if (!std::holds_alternative<SoftmaxCrossEntropy>(graph.ops.back().attributes)) {
    throw Error("the last operator is '" + kind_of(graph.ops.back()) + "', not a loss",
                "operator " + graph.ops.back().name, "end the graph with softmax_cross_entropy");
  }
}

const Graph& checked(const Graph& graph) {
  check(graph);
  return graph;
}

float as_float(const View& view, std::int64_t i) {
  if (view.dtype == DType::f32) return static_cast<const float*>(view.data)[i];
  const auto half = static_cast<const std::uint16_t*>(view.data)[i];
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

// --- Making --------------------------------------------------------------------------------------
KernelExecutor::KernelExecutor(const Graph& graph, const Backend& backend, const FlatLayout& layout,
                               const ExecutorOptions& options, Compilation compilation)
    : graph_(checked(graph)),
      layout_(layout),
      compilation_(std::move(compilation)),
      memory_(graph, backend, layout, compilation_, options) {
  make_sets(backend, options.batches, Mode::train);
  make_sets(backend, options.evaluation_batches, Mode::evaluate);
  for (std::size_t p = 0; p < memory_.parameter_count(); ++p) {
    const View copy = memory_.kernel_weight(p);
    if (copy.dtype == DType::f32) continue;
    half_copies_.push_back(backend.make_convert(memory_.weight(p), copy));
  }
}

void KernelExecutor::make_sets(const Backend& backend, const std::vector<std::int64_t>& batches,
                               Mode mode) {
  for (const std::int64_t batch : batches) {
    if (batch == 0 || sets_.contains({batch, mode})) continue;
    sets_.emplace(std::pair(batch, mode),
                  make_kernels(graph_, backend, memory_, compilation_, batch, mode));
  }
}

const KernelSet& KernelExecutor::kernels(std::int64_t batch, Mode mode) const {
  const auto set = sets_.find({batch, mode});
  expects(set != sets_.end(), "a batch has a size that the executor was told");
  return set->second;
}

// --- Running -------------------------------------------------------------------------------------
void KernelExecutor::weights_changed() {
  for (const auto& copy : half_copies_) copy->execute();
}

double KernelExecutor::forward(int slot, std::int64_t batch, const StepState& step, Mode mode) {
  if (batch == 0) return 0.0;
  memory_.step = step;
  for (const Step& one : kernels(batch, mode).forward) one.execute(slot);
  const auto* losses =
      static_cast<const float*>(memory_.value(graph_.ops.back().output, batch, slot).data);
  return std::accumulate(losses, losses + batch, 0.0);
}

void KernelExecutor::backward(int slot, std::int64_t batch, BackwardListener& listener,
                              bool accumulate) {
  if (batch == 0) return backward_of_nothing(listener, accumulate);
  if (accumulate) keep_gradients();
  for (const BackwardStep& one : kernels(batch, Mode::train).backward) {
    if (one.ready < 0) {
      one.step.execute(slot);
      listener.between_kernels();
      continue;
    }
    if (accumulate) add_kept(one.ready);
    listener.gradients_ready(one.ready);
  }
}

void KernelExecutor::backward_of_nothing(BackwardListener& listener, bool accumulate) {
  if (!accumulate) {
    std::fill(gradients().begin() + layout_.reserved.end, gradients().end(), 0.0F);
  }
  for (const BackwardAction& action : compilation_.gradients.actions) {
    if (action.kind == BackwardAction::Kind::ready) listener.gradients_ready(action.op);
  }
}

void KernelExecutor::keep_gradients() {
  const std::span<const float> all = gradients();
  kept_.assign(all.begin(), all.end());
}

void KernelExecutor::add_kept(int op) {
  for (const std::size_t parameter : memory_.parameters(op)) {
    const Range& range = layout_.parameters[parameter];
    float* const sum = gradients().data();
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      sum[i] += kept_[static_cast<std::size_t>(i)];
    }
  }
}

std::int64_t KernelExecutor::correct(int slot, std::int64_t batch) const {
  const View scores = memory_.value(graph_.ops.back().inputs[0], batch, slot);
  const std::int64_t classes =
      graph_.tensors[static_cast<std::size_t>(graph_.ops.back().inputs[0])].shape.back();
  const std::int32_t* const labels = memory_.slots()[static_cast<std::size_t>(slot)].labels;
  std::int64_t hits = 0;
  for (std::int64_t row = 0; row < scores.elements / classes; ++row) {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < classes; ++c) {
      if (as_float(scores, row * classes + c) > as_float(scores, row * classes + best)) best = c;
    }
    hits += best == labels[row] ? 1 : 0;
  }
  return hits;
}

// --- Telling -------------------------------------------------------------------------------------
Flop KernelExecutor::flop(std::int64_t batch) const {
  const auto set = sets_.find({batch, Mode::train});
  return set == sets_.end() ? Flop(0) : set->second.flop;
}

std::map<std::string, std::string> KernelExecutor::implementations() const {
  const auto set = sets_.find({memory_.largest_batch(), Mode::train});
  return set == sets_.end() ? std::map<std::string, std::string>{} : set->second.implementations;
}

std::vector<MemoryItem> KernelExecutor::memory() const {
  std::vector<MemoryItem> items = memory_.items();
  for (MemoryItem& item : items) {
    if (item.name != "workspace") continue;
    for (const auto& [key, set] : sets_) item.bytes += set.scratch;
  }
  return items;
}

}  // namespace

std::unique_ptr<Executor> make_eager_executor(const Graph& graph, const Backend& backend,
                                              const FlatLayout& layout,
                                              const ExecutorOptions& options) {
  return std::make_unique<KernelExecutor>(graph, backend, layout, options,
                                          compile_apart(checked(graph)));
}

std::unique_ptr<Executor> make_graph_executor(const Graph& graph, const Backend& backend,
                                              const FlatLayout& layout,
                                              const ExecutorOptions& options) {
  return std::make_unique<KernelExecutor>(graph, backend, layout, options,
                                          compile_fused(checked(graph)));
}

}  // namespace plimsoll::trainer
