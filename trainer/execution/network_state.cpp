// Places what lives from step to step, once.

#include "trainer/execution/network_state.hpp"

#include <algorithm>
#include <array>
#include <bit>
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

float as_float(const View& view, std::int64_t i) {
  if (view.dtype == DType::f32) return static_cast<const float*>(view.data)[i];
  const auto half = static_cast<const std::uint16_t*>(view.data)[i];
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

void check(const Graph& graph) {
  expects(!graph.ops.empty(), "a graph has operators");
  if (std::holds_alternative<SoftmaxCrossEntropy>(graph.ops.back().attributes)) return;
  throw Error("the last operator is '" + kind_of(graph.ops.back()) + "', not a loss",
              "operator " + graph.ops.back().name, "end the graph with softmax_cross_entropy");
}

}  // namespace

NetworkState::NetworkState(const Graph& graph, const Backend& backend, const FlatLayout& layout,
                           const ExecutorOptions& options)
    : graph_(graph), layout_(layout), dtype_(options.dtype) {
  check(graph);
  for (const auto* sizes : {&options.batches, &options.evaluation_batches}) {
    for (const std::int64_t size : *sizes) largest_ = std::max(largest_, size);
  }
  place_parameters();
  place_input(options.slots);
  for (std::size_t p = 0; p < layout.parameters.size(); ++p) {
    const View copy = kernel_weight(p);
    if (copy.dtype == DType::f32) continue;
    half_copies_.push_back(backend.make_convert(weight(p), copy));
  }
}

void NetworkState::place_parameters() {
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

void NetworkState::place_input(int slots) {
  const Op& loss = graph_.ops.back();
  const std::int64_t labels = elements(graph_.tensors[at(loss.inputs[0])].shape) /
                              graph_.tensors[at(loss.inputs[0])].shape.back();
  const std::int64_t row = 4 * elements(graph_.tensors[at(graph_.input)].shape);
  const bool tokens = graph_.tensors[at(graph_.input)].tokens;
  Carver carver;
  std::vector<std::array<std::size_t, 2>> begin;
  for (int s = 0; s < slots; ++s) {
    begin.push_back({carver.reserve(largest_ * row), carver.reserve(4 * largest_ * labels)});
  }
  input_ = sys::Buffer(carver.size(), "input batches", sys::Page::huge);
  for (const auto& [x, y] : begin) {
    std::byte* const rows = input_.data() + x;
    slots_.push_back({.x = tokens ? nullptr : reinterpret_cast<float*>(rows),
                      .tokens = tokens ? reinterpret_cast<std::int32_t*>(rows) : nullptr,
                      .labels = reinterpret_cast<std::int32_t*>(input_.data() + y)});
  }
}

View NetworkState::weight(std::size_t parameter) const {
  const Range& range = layout_.parameters[parameter];
  return {.data = weights_.as<float>().data() + range.begin, .elements = range.size()};
}

View NetworkState::kernel_weight(std::size_t parameter) const {
  if (dtype_ == DType::f32 || full_precision_[parameter]) return weight(parameter);
  const Range& range = layout_.parameters[parameter];
  return {.data = half_weights_.as<std::uint16_t>().data() + range.begin,
          .elements = range.size(),
          .dtype = DType::bf16};
}

View NetworkState::weight_gradient(std::size_t parameter) const {
  const Range& range = layout_.parameters[parameter];
  return {.data = gradients_.as<float>().data() + range.begin, .elements = range.size()};
}

void NetworkState::weights_changed() const {
  for (const auto& copy : half_copies_) copy->execute();
}

// --- Gradients -----------------------------------------------------------------------------------
void NetworkState::keep_gradients() {
  const std::span<const float> all = gradients();
  kept_.assign(all.begin(), all.end());
}

void NetworkState::add_kept(int op) {
  for (const std::size_t parameter : parameters(op)) {
    const Range& range = layout_.parameters[parameter];
    float* const sum = gradients().data();
    for (std::int64_t i = range.begin; i < range.end; ++i) sum[i] += kept_[at(i)];
  }
}

void NetworkState::backward_of_nothing(BackwardListener& listener, bool accumulate) {
  if (!accumulate) std::fill(gradients().begin() + layout_.reserved.end, gradients().end(), 0.0F);
  for (int i = static_cast<int>(graph_.ops.size()) - 1; i >= 0; --i) {
    if (!graph_.ops[at(i)].parameters.empty()) listener.gradients_ready(i);
  }
}

std::int64_t NetworkState::correct(const View& scores, int slot) const {
  const std::int64_t classes = graph_.tensors[at(graph_.ops.back().inputs[0])].shape.back();
  const std::int32_t* const labels = slots_[at(slot)].labels;
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

std::vector<MemoryItem> NetworkState::items() const {
  const auto size = [](const sys::Buffer& buffer) {
    return Bytes(static_cast<double>(buffer.size()));
  };
  return {{.name = "parameters", .bytes = size(weights_) + size(half_weights_) + size(state_)},
          {.name = "gradients",
           .bytes = size(gradients_) + Bytes(4.0 * static_cast<double>(kept_.size()))},
          {.name = "input", .bytes = size(input_)}};
}

}  // namespace plimsoll::trainer
