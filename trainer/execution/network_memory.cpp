// Places everything once.

#include "trainer/execution/network_memory.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/error.hpp"

namespace plimsoll::trainer {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

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

bool is_norm(const Op& op) {
  return std::holds_alternative<BatchNorm>(op.attributes) ||
         std::holds_alternative<LayerNorm>(op.attributes);
}

}  // namespace

NetworkMemory::NetworkMemory(const Graph& graph, const Backend& backend, const FlatLayout& layout,
                             const GradientPlan& gradients, const ExecutorOptions& options)
    : graph_(graph), layout_(layout), dtype_(options.dtype) {
  for (const auto* sizes : {&options.batches, &options.evaluation_batches}) {
    for (const std::int64_t size : *sizes) largest_ = std::max(largest_, size);
  }
  place_parameters();
  place_tensors(gradients);
  place_workspaces(backend);
  place_input(options.slots);
}

void NetworkMemory::place_parameters() {
  std::size_t next = 0;
  std::int64_t state = 0;
  std::vector<std::size_t> first;  // by op
  for (const Op& op : graph_.ops) {
    first.push_back(next);
    std::vector<std::size_t> own(op.parameters.size());
    std::iota(own.begin(), own.end(), next);
    next += own.size();
    full_precision_.insert(full_precision_.end(), own.size(), is_norm(op));
    const auto* const linear = std::get_if<Linear>(&op.attributes);
    if (linear != nullptr && !linear->tied_to.empty()) {
      for (std::size_t i = 0; i < first.size(); ++i) {
        if (graph_.ops[i].name == linear->tied_to) own = {first[i]};
      }
    }
    parameters_.push_back(std::move(own));
    for (const Parameter& kept : op.state) state += elements(kept.shape);
  }
  weights_ = sys::Buffer(float_bytes(layout_.total), "weights", sys::Page::huge);
  gradients_ = sys::Buffer(float_bytes(layout_.total), "gradients", sys::Page::huge);
  std::ranges::fill(gradients(), 0.0F);
  if (dtype_ == DType::bf16) {
    half_weights_ = sys::Buffer(Bytes(2.0 * static_cast<double>(layout_.total)), "bf16 weights",
                                sys::Page::huge);
  }
  state_size_ = at(state);
  state_ = sys::Buffer(float_bytes(std::max<std::int64_t>(state, 1)), "operator state");
  auto* kept = state_.as<float>().data();
  for (const Op& op : graph_.ops) {
    std::vector<View> views;
    for (const Parameter& one : op.state) {
      const std::int64_t count = elements(one.shape);
      views.push_back({.data = kept, .elements = count});
      // Running means start at 0, running variances at 1.
      std::fill_n(kept, count, one.name.ends_with("variance") ? 1.0F : 0.0F);
      kept += count;
    }
    op_state_.push_back(std::move(views));
  }
}

void NetworkMemory::place_tensors(const GradientPlan& plan) {
  const std::size_t count = graph_.tensors.size();
  std::vector<int> home(count);
  std::iota(home.begin(), home.end(), 0);
  for (const Op& op : graph_.ops) {
    if (std::holds_alternative<Reshape>(op.attributes)) {
      home[at(op.output)] = home[at(op.inputs[0])];
    }
  }
  const std::int64_t element = size_of(dtype_);
  Carver values, gradients;
  std::vector<std::size_t> value_at(count), gradient_at(count);
  for (std::size_t t = 0; t < count; ++t) {
    const int tensor = static_cast<int>(t);
    const std::int64_t bytes = (is_loss(tensor) ? 4 : element) * largest_ * sample_elements(tensor);
    if (home[t] == tensor && tensor != graph_.input) value_at[t] = values.reserve(bytes);
    if (plan.home[t] == tensor) gradient_at[t] = gradients.reserve(bytes);
  }
  activations_ = sys::Buffer(values.size(), "activations", sys::Page::huge);
  activation_gradients_ = sys::Buffer(gradients.size(), "activation gradients", sys::Page::huge);
  if (plan.largest_scratch >= 0) {
    const std::int64_t elements = largest_ * sample_elements(plan.largest_scratch);
    scratch_ =
        sys::Buffer(Bytes(static_cast<double>(std::max<std::int64_t>(64, element * elements))),
                    "extra gradient", sys::Page::huge);
  }
  value_.resize(count);
  gradient_.resize(count);
  for (std::size_t t = 0; t < count; ++t) {
    if (home[t] != graph_.input) value_[t] = activations_.data() + value_at[at(home[t])];
    if (plan.home[t] >= 0) {
      gradient_[t] = activation_gradients_.data() + gradient_at[at(plan.home[t])];
    }
  }
}

void NetworkMemory::place_workspaces(const Backend& backend) {
  Carver carver;
  std::vector<std::size_t> begin;
  std::vector<std::int64_t> bytes;
  for (const Op& op : graph_.ops) {
    bytes.push_back(largest_ == 0 ? 0
                                  : static_cast<std::int64_t>(
                                        backend.workspace(graph_, op, largest_, dtype_).value()));
    begin.push_back(carver.reserve(bytes.back()));
  }
  workspaces_ = sys::Buffer(carver.size(), "operator workspaces", sys::Page::huge);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    workspace_.push_back(
        {.data = bytes[i] > 0 ? workspaces_.data() + begin[i] : nullptr, .elements = bytes[i] / 4});
  }
}

void NetworkMemory::place_input(int slots) {
  const Op& loss = graph_.ops.back();
  const std::int64_t labels =
      sample_elements(loss.inputs[0]) / graph_.tensors[at(loss.inputs[0])].shape.back();
  const std::int64_t row = 4 * sample_elements(graph_.input);
  const bool tokens = graph_.tensors[at(graph_.input)].tokens;
  Carver carver;
  std::vector<std::array<std::size_t, 2>> begin;
  for (int s = 0; s < slots; ++s) {
    begin.push_back({carver.reserve(largest_ * row), carver.reserve(4 * largest_ * labels)});
  }
  const bool convert = dtype_ == DType::bf16 && !tokens;
  const std::size_t half = carver.reserve(convert ? largest_ * row / 2 : 0);
  input_ = sys::Buffer(carver.size(), "input batches", sys::Page::huge);
  if (convert) half_input_ = input_.data() + half;
  for (const auto& [x, y] : begin) {
    std::byte* const rows = input_.data() + x;
    slots_.push_back({.x = tokens ? nullptr : reinterpret_cast<float*>(rows),
                      .tokens = tokens ? reinterpret_cast<std::int32_t*>(rows) : nullptr,
                      .labels = reinterpret_cast<std::int32_t*>(input_.data() + y)});
  }
}

std::int64_t NetworkMemory::sample_elements(int tensor) const {
  return elements(graph_.tensors[at(tensor)].shape);
}

bool NetworkMemory::is_loss(int tensor) const { return tensor == graph_.ops.back().output; }

View NetworkMemory::value(int tensor, std::int64_t batch, int slot) const {
  const std::int64_t count = batch * sample_elements(tensor);
  if (value_[at(tensor)] != nullptr) {
    return {.data = value_[at(tensor)],
            .elements = count,
            .dtype = is_loss(tensor) ? DType::f32 : dtype_};
  }
  if (half_input_ != nullptr) {
    return {.data = half_input_, .elements = count, .dtype = DType::bf16};
  }
  return {.data = slots_[at(slot)].x, .elements = count};
}

View NetworkMemory::gradient(int tensor, std::int64_t batch) const {
  return {
      .data = gradient_[at(tensor)], .elements = batch * sample_elements(tensor), .dtype = dtype_};
}

View NetworkMemory::scratch(int tensor, std::int64_t batch) const {
  return {.data = scratch_.data(), .elements = batch * sample_elements(tensor), .dtype = dtype_};
}

bool NetworkMemory::reads_slot(const Op& op) const {
  if (std::holds_alternative<SoftmaxCrossEntropy>(op.attributes) ||
      std::holds_alternative<Embedding>(op.attributes)) {
    return true;
  }
  return half_input_ == nullptr &&
         std::ranges::any_of(op.inputs, [&](int tensor) { return value_[at(tensor)] == nullptr; });
}

View NetworkMemory::weight(std::size_t parameter) const {
  const Range& range = layout_.parameters[parameter];
  return {.data = weights_.as<float>().data() + range.begin, .elements = range.size()};
}

View NetworkMemory::kernel_weight(std::size_t parameter) const {
  if (dtype_ == DType::f32 || full_precision_[parameter]) return weight(parameter);
  const Range& range = layout_.parameters[parameter];
  return {.data = half_weights_.as<std::uint16_t>().data() + range.begin,
          .elements = range.size(),
          .dtype = DType::bf16};
}

View NetworkMemory::weight_gradient(std::size_t parameter) const {
  const Range& range = layout_.parameters[parameter];
  return {.data = gradients_.as<float>().data() + range.begin, .elements = range.size()};
}

Operands NetworkMemory::operands(int op_index, std::int64_t batch, int slot, Mode mode) const {
  const Op& op = graph_.ops[at(op_index)];
  Operands result;
  result.batch = batch;
  result.mode = mode;
  result.x = value(op.inputs[0], batch, slot);
  if (op.inputs.size() > 1) result.x2 = value(op.inputs[1], batch, slot);
  result.y = value(op.output, batch, slot);
  result.dx = gradient(op.inputs[0], batch);
  result.dy = gradient(op.output, batch);
  for (const std::size_t parameter : parameters(op_index)) {
    result.w.push_back(kernel_weight(parameter));
    result.dw.push_back(weight_gradient(parameter));
  }
  result.state = op_state_[at(op_index)];
  result.tokens = slots_[at(slot)].tokens;
  result.labels = slots_[at(slot)].labels;
  result.step = &step;
  result.workspace = workspace_[at(op_index)];
  return result;
}

std::vector<MemoryItem> NetworkMemory::items() const {
  const auto size = [](const sys::Buffer& buffer) {
    return Bytes(static_cast<double>(buffer.size()));
  };
  return {{.name = "parameters", .bytes = size(weights_) + size(half_weights_) + size(state_)},
          {.name = "gradients", .bytes = size(gradients_)},
          {.name = "activations",
           .bytes = size(activations_) + size(activation_gradients_) + size(scratch_)},
          {.name = "workspace", .bytes = size(workspaces_)},
          {.name = "input", .bytes = size(input_)}};
}

}  // namespace plimsoll::trainer
