// Eager execution: one kernel after the other, each finished before the next begins.
//
// Memory is planned once, for the largest batch: every tensor and every gradient has its own place
// (a reshape shares that of its input). A set of kernels is made for each batch size; kernels that
// read the input are made once per input slot, so that no batch is ever copied.

#include <algorithm>
#include <array>
#include <numeric>

#include "core/error.hpp"
#include "core/system/buffer.hpp"
#include "trainer/execution/executor.hpp"

namespace plimsoll::trainer {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// One kernel to run; several when it reads the input: then one per slot.
struct Step {
  int op = 0;
  std::vector<std::unique_ptr<Kernel>> by_slot;
  void execute(int slot) { (by_slot.size() == 1 ? by_slot[0] : by_slot[at(slot)])->execute(); }
};

// The backward of one operator: gradients of weights first, for other ranks wait for them.
struct BackwardSteps {
  int op = 0;
  bool has_parameters = false;
  std::vector<Step> weights, data;  // none or one
};

struct KernelSet {
  std::vector<Step> forward;
  std::vector<BackwardSteps> backward;  // last operator first
  Flop flop;
  Bytes scratch;
};

class EagerExecutor final : public Executor {
 public:
  EagerExecutor(const Graph& graph, const Backend& backend, const FlatLayout& layout,
                const ExecutorOptions& options);

  [[nodiscard]] std::vector<InputSlot> slots() const override { return slots_; }
  [[nodiscard]] std::span<float> weights() override { return weights_.as<float>(); }
  [[nodiscard]] std::span<float> gradients() override { return gradients_.as<float>(); }
  [[nodiscard]] double forward(int slot, std::int64_t batch, const StepState& step,
                               Mode mode) override;
  [[nodiscard]] std::span<float> state() override { return {}; }
  void weights_changed() override {}
  void backward(int slot, std::int64_t batch, BackwardListener& listener, bool accumulate) override;
  [[nodiscard]] std::int64_t correct(int slot, std::int64_t batch) const override;
  [[nodiscard]] Flop flop(std::int64_t batch) const override;
  [[nodiscard]] std::map<std::string, std::string> implementations() const override;
  [[nodiscard]] std::vector<MemoryItem> memory() const override;

 private:
  void check_graph() const;
  void place_tensors(const Backend& backend);
  void make_kernels(const Backend& backend, std::int64_t batch);
  [[nodiscard]] Step make_step(const Backend& backend, int op, Direction direction,
                               std::int64_t batch, KernelSet& set);
  [[nodiscard]] Operands operands(int op, std::int64_t batch, int slot) const;
  [[nodiscard]] const Op& op_at(int op) const { return graph_.ops[at(op)]; }
  [[nodiscard]] std::int64_t sample_elements(int tensor) const {
    return elements(graph_.tensors[at(tensor)].shape);
  }
  [[nodiscard]] KernelSet& kernels(std::int64_t batch);

  const Graph& graph_;
  const FlatLayout& layout_;
  std::int64_t largest_ = 0;
  std::vector<int> home_;                     // tensor -> the tensor whose memory it shares
  std::vector<std::size_t> first_parameter_;  // op -> index of its first parameter
  sys::Buffer weights_, gradients_, activations_, activation_gradients_, workspaces_, input_;
  std::vector<float*> value_, gradient_;  // by tensor; null where there is none
  std::vector<View> workspace_;           // by op
  std::vector<InputSlot> slots_;
  std::map<std::int64_t, KernelSet> sets_;
  std::map<std::string, std::string> implementations_;
};

// Plans pieces of one buffer, each starting on a cache line.
class Carver {
 public:
  std::size_t reserve(std::int64_t bytes) {
    const std::size_t begin = size_;
    size_ += (at(bytes) + 63) / 64 * 64;
    return begin;
  }
  [[nodiscard]] Bytes size() const {
    return Bytes(static_cast<double>(std::max<std::size_t>(size_, 64)));
  }

 private:
  std::size_t size_ = 0;
};

Bytes float_bytes(std::int64_t count) { return Bytes(4.0 * static_cast<double>(count)); }

// --- Planning ------------------------------------------------------------------------------------
EagerExecutor::EagerExecutor(const Graph& graph, const Backend& backend, const FlatLayout& layout,
                             const ExecutorOptions& options)
    : graph_(graph), layout_(layout) {
  check_graph();
  for (const auto* sizes : {&options.batches, &options.evaluation_batches}) {
    for (const std::int64_t size : *sizes) largest_ = std::max(largest_, size);
  }
  weights_ = sys::Buffer(float_bytes(layout.total), "weights", sys::Page::huge);
  gradients_ = sys::Buffer(float_bytes(layout.total), "gradients", sys::Page::huge);
  std::fill(gradients().begin(), gradients().end(), 0.0F);
  slots_.resize(at(options.slots));
  std::size_t parameter = 0;
  for (const Op& op : graph.ops) {
    first_parameter_.push_back(parameter);
    parameter += op.parameters.size();
  }
  place_tensors(backend);
  std::vector<std::int64_t> batches = options.batches;
  batches.insert(batches.end(), options.evaluation_batches.begin(),
                 options.evaluation_batches.end());
  for (const std::int64_t batch : batches) {
    if (batch > 0 && !sets_.contains(batch)) make_kernels(backend, batch);
  }
}

void EagerExecutor::check_graph() const {
  expects(!graph_.ops.empty(), "a graph has operators");
  if (!std::holds_alternative<SoftmaxCrossEntropy>(graph_.ops.back().attributes)) {
    throw Error("the last operator is '" + kind_of(graph_.ops.back()) + "', not a loss",
                "operator " + graph_.ops.back().name, "end the graph with softmax_cross_entropy");
  }
  std::vector<int> readers(graph_.tensors.size());
  for (const Op& op : graph_.ops) {
    for (const int tensor : op.inputs) {
      if (++readers[at(tensor)] > 1 || op.inputs.size() > 1) {
        throw Error("tensor '" + graph_.tensors[at(tensor)].name + "' branches or joins",
                    "operator " + op.name, "eager execution runs chains of operators");
      }
    }
  }
}

void EagerExecutor::place_tensors(const Backend& backend) {
  const std::size_t count = graph_.tensors.size();
  home_.resize(count);
  std::iota(home_.begin(), home_.end(), 0);
  for (const Op& op : graph_.ops) {
    if (std::holds_alternative<Reshape>(op.attributes)) {
      home_[at(op.output)] = home_[at(op.inputs[0])];
    }
  }
  Carver values, gradients, workspaces, inputs;
  std::vector<std::size_t> value_at(count), gradient_at(count);
  for (std::size_t t = 0; t < count; ++t) {
    if (home_[t] != static_cast<int>(t) || static_cast<int>(t) == graph_.input) continue;
    const std::int64_t bytes = 4 * largest_ * sample_elements(static_cast<int>(t));
    value_at[t] = values.reserve(bytes);
    if (static_cast<int>(t) != graph_.ops.back().output) gradient_at[t] = gradients.reserve(bytes);
  }
  std::vector<std::size_t> workspace_at(graph_.ops.size());
  std::vector<std::int64_t> workspace_bytes(graph_.ops.size());
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    workspace_bytes[i] =
        largest_ == 0 ? 0
                      : static_cast<std::int64_t>(
                            backend.workspace(graph_, graph_.ops[i], largest_, DType::f32).value());
    workspace_at[i] = workspaces.reserve(workspace_bytes[i]);
  }
  const std::int64_t row_bytes = 4 * sample_elements(graph_.input);
  std::vector<std::array<std::size_t, 2>> slot_at;
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    slot_at.push_back({inputs.reserve(largest_ * row_bytes), inputs.reserve(4 * largest_)});
  }
  activations_ = sys::Buffer(values.size(), "activations", sys::Page::huge);
  activation_gradients_ = sys::Buffer(gradients.size(), "activation gradients", sys::Page::huge);
  workspaces_ = sys::Buffer(workspaces.size(), "operator workspaces");
  input_ = sys::Buffer(inputs.size(), "input batches", sys::Page::huge);

  value_.resize(count);
  gradient_.resize(count);
  for (std::size_t t = 0; t < count; ++t) {
    const std::size_t home = at(home_[t]);
    if (home_[t] == graph_.input) continue;
    value_[t] = reinterpret_cast<float*>(activations_.data() + value_at[home]);
    if (static_cast<int>(t) != graph_.ops.back().output) {
      gradient_[t] = reinterpret_cast<float*>(activation_gradients_.data() + gradient_at[home]);
    }
  }
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    const bool any = workspace_bytes[i] > 0;
    workspace_.push_back({.data = any ? workspaces_.data() + workspace_at[i] : nullptr,
                          .elements = workspace_bytes[i] / 4});
  }
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    slots_[s] = {.x = reinterpret_cast<float*>(input_.data() + slot_at[s][0]),
                 .tokens = nullptr,
                 .labels = reinterpret_cast<std::int32_t*>(input_.data() + slot_at[s][1])};
  }
}

// --- Kernels -------------------------------------------------------------------------------------
Operands EagerExecutor::operands(int op_index, std::int64_t batch, int slot) const {
  const Op& op = op_at(op_index);
  const int x = op.inputs[0];
  const int y = op.output;
  float* const input = home_[at(x)] == graph_.input ? slots_[at(slot)].x : value_[at(x)];
  Operands result;
  result.batch = batch;
  result.x = {.data = input, .elements = batch * sample_elements(x)};
  result.y = {.data = value_[at(y)], .elements = batch * sample_elements(y)};
  result.dx = {.data = gradient_[at(x)], .elements = batch * sample_elements(x)};
  result.dy = {.data = gradient_[at(y)], .elements = batch * sample_elements(y)};
  const auto flat = [&](const sys::Buffer& buffer, std::size_t parameter) {
    const Range& range = layout_.parameters[first_parameter_[at(op_index)] + parameter];
    return View{.data = buffer.as<float>().data() + range.begin, .elements = range.size()};
  };
  for (std::size_t p = 0; p < op.parameters.size(); ++p) {
    result.w.push_back(flat(weights_, p));
    result.dw.push_back(flat(gradients_, p));
  }
  result.labels = slots_[at(slot)].labels;
  result.workspace = workspace_[at(op_index)];
  return result;
}

Step EagerExecutor::make_step(const Backend& backend, int op_index, Direction direction,
                              std::int64_t batch, KernelSet& set) {
  const Op& op = op_at(op_index);
  const bool reads_input = home_[at(op.inputs[0])] == graph_.input ||
                           std::holds_alternative<SoftmaxCrossEntropy>(op.attributes);
  Step step{.op = op_index, .by_slot = {}};
  for (int slot = 0; slot < (reads_input ? static_cast<int>(slots_.size()) : 1); ++slot) {
    auto kernel = backend.make(graph_, op, direction, operands(op_index, batch, slot));
    if (!kernel) return step;
    if (slot == 0) {
      set.flop += kernel->counted().flop;
      if (batch == largest_) {
        implementations_[op.name + "." + to_string(direction)] = kernel->implementation();
      }
    }
    set.scratch += kernel->scratch();
    step.by_slot.push_back(std::move(kernel));
  }
  return step;
}

void EagerExecutor::make_kernels(const Backend& backend, std::int64_t batch) {
  KernelSet set;
  const int ops = static_cast<int>(graph_.ops.size());
  for (int i = 0; i < ops; ++i) {
    Step step = make_step(backend, i, Direction::forward, batch, set);
    if (!step.by_slot.empty()) set.forward.push_back(std::move(step));
  }
  for (int i = ops - 1; i >= 0; --i) {
    BackwardSteps steps{
        .op = i, .has_parameters = !op_at(i).parameters.empty(), .weights = {}, .data = {}};
    if (steps.has_parameters) {
      Step step = make_step(backend, i, Direction::backward_weights, batch, set);
      if (!step.by_slot.empty()) steps.weights.push_back(std::move(step));
    }
    if (computes(graph_, op_at(i), Direction::backward_data)) {
      Step step = make_step(backend, i, Direction::backward_data, batch, set);
      if (!step.by_slot.empty()) steps.data.push_back(std::move(step));
    }
    set.backward.push_back(std::move(steps));
  }
  sets_.emplace(batch, std::move(set));
}

KernelSet& EagerExecutor::kernels(std::int64_t batch) {
  const auto set = sets_.find(batch);
  expects(set != sets_.end(), "a batch has a size that the executor was told");
  return set->second;
}

// --- Running -------------------------------------------------------------------------------------
double EagerExecutor::forward(int slot, std::int64_t batch, const StepState&, Mode) {
  if (batch == 0) return 0.0;
  for (Step& step : kernels(batch).forward) step.execute(slot);
  const float* losses = value_[at(graph_.ops.back().output)];
  return std::accumulate(losses, losses + batch, 0.0);
}

void EagerExecutor::backward(int slot, std::int64_t batch, BackwardListener& listener,
                             bool accumulate) {
  expects(!accumulate, "eager execution does not accumulate yet");
  if (batch == 0) {
    std::fill(gradients().begin() + layout_.reserved.end, gradients().end(), 0.0F);
    for (int i = static_cast<int>(graph_.ops.size()) - 1; i >= 0; --i) {
      if (!op_at(i).parameters.empty()) listener.gradients_ready(i);
    }
    return;
  }
  for (BackwardSteps& steps : kernels(batch).backward) {
    for (Step& step : steps.weights) step.execute(slot);
    if (steps.has_parameters) listener.gradients_ready(steps.op);
    for (Step& step : steps.data) {
      step.execute(slot);
      listener.between_kernels();
    }
  }
}

std::int64_t EagerExecutor::correct(int slot, std::int64_t batch) const {
  const Op& loss = graph_.ops.back();
  const std::int64_t classes = sample_elements(loss.inputs[0]);
  const float* row = value_[at(loss.inputs[0])];
  std::int64_t hits = 0;
  for (std::int64_t i = 0; i < batch; ++i, row += classes) {
    const auto best = std::max_element(row, row + classes) - row;
    hits += best == slots_[at(slot)].labels[i] ? 1 : 0;
  }
  return hits;
}

// --- Telling -------------------------------------------------------------------------------------
Flop EagerExecutor::flop(std::int64_t batch) const {
  const auto set = sets_.find(batch);
  return set == sets_.end() ? Flop(0) : set->second.flop;
}

std::map<std::string, std::string> EagerExecutor::implementations() const {
  return implementations_;
}

std::vector<MemoryItem> EagerExecutor::memory() const {
  const auto size = [](const sys::Buffer& buffer) {
    return Bytes(static_cast<double>(buffer.size()));
  };
  Bytes workspace = size(workspaces_);
  for (const auto& [batch, set] : sets_) workspace += set.scratch;
  return {{.name = "parameters", .bytes = size(weights_)},
          {.name = "gradients", .bytes = size(gradients_)},
          {.name = "activations", .bytes = size(activations_) + size(activation_gradients_)},
          {.name = "workspace", .bytes = workspace},
          {.name = "input", .bytes = size(input_)}};
}

}  // namespace

std::unique_ptr<Executor> make_eager_executor(const Graph& graph, const Backend& backend,
                                              const FlatLayout& layout,
                                              const ExecutorOptions& options) {
  return std::make_unique<EagerExecutor>(graph, backend, layout, options);
}

}  // namespace plimsoll::trainer
