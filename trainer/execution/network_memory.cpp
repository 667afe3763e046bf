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

Compilation compile_apart(const Graph& graph) {
  Compilation result;
  result.fusion = no_fusion(graph);
  result.gradients = plan_gradients(graph, result.fusion, false);
  result.lives = lives_of(graph, result.fusion, result.gradients);
  return result;
}

Compilation compile_fused(const Graph& graph) {
  Compilation result;
  result.fusion = fuse_relus(graph);
  result.gradients = plan_gradients(graph, result.fusion, true);
  result.lives = lives_of(graph, result.fusion, result.gradients);
  result.share_memory = true;
  return result;
}

NetworkMemory::NetworkMemory(const Graph& graph, const Backend& backend, const FlatLayout& layout,
                             const Compilation& compilation, const ExecutorOptions& options)
    : graph_(graph), layout_(layout), compilation_(compilation), dtype_(options.dtype) {
  for (const auto* sizes : {&options.batches, &options.evaluation_batches}) {
    for (const std::int64_t size : *sizes) largest_ = std::max(largest_, size);
  }
  place_parameters();
  place_tensors();
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

void NetworkMemory::place_tensors() {
  const std::size_t count = graph_.tensors.size();
  const Lives& lives = compilation_.lives;
  const std::int64_t element = size_of(dtype_);
  std::vector<Piece> pieces;
  std::vector<std::size_t> value_at(count), gradient_at(count);  // pieces
  const auto piece = [&](std::int64_t element_bytes, int tensor, const Life& life) {
    pieces.push_back({element_bytes * largest_ * sample_elements(tensor), life});
    return pieces.size() - 1;
  };
  for (std::size_t t = 0; t < count; ++t) {
    const int tensor = static_cast<int>(t);
    if (lives.value_home[t] == tensor) {
      value_at[t] = piece(is_loss(tensor) ? 4 : element, tensor, lives.value[t]);
    }
    if (compilation_.gradients.home[t] == tensor) {
      gradient_at[t] = piece(element, tensor, lives.gradient[t]);
    }
  }
  const Placement placement =
      compilation_.share_memory ? place_by_life(pieces) : place_apart(pieces);
  activations_ =
      sys::Buffer(Bytes(static_cast<double>(std::max<std::int64_t>(64, placement.bytes))),
                  "activations", sys::Page::huge);
  const auto place_of = [&](std::size_t which) {
    return activations_.data() + placement.offset[which];
  };
  if (const int largest = compilation_.gradients.largest_scratch; largest >= 0) {
    const std::int64_t bytes = element * largest_ * sample_elements(largest);
    scratch_ = sys::Buffer(Bytes(static_cast<double>(std::max<std::int64_t>(64, bytes))),
                           "extra gradient", sys::Page::huge);
  }
  value_.resize(count);
  gradient_.resize(count);
  for (std::size_t t = 0; t < count; ++t) {
    const int value = lives.value_home[t], gradient = compilation_.gradients.home[t];
    if (value >= 0) value_[t] = place_of(value_at[at(value)]);
    if (gradient >= 0) gradient_[t] = place_of(gradient_at[at(gradient)]);
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
  result.relu = compilation_.fusion.relu_of[at(op_index)] >= 0;
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
          {.name = "activations", .bytes = size(activations_) + size(scratch_)},
          {.name = "workspace", .bytes = size(workspaces_)},
          {.name = "input", .bytes = size(input_)}};
}

}  // namespace plimsoll::trainer
