// The memory of a network on one rank, for the largest batch that will come. Kernels are handed
// views of it. Tensors and gradients lie apart from each other, or where the memory plan puts them.
//
// Weights and their gradients are flat f32 buffers. In bf16 the kernels read bf16 copies of the
// weights (not of a norm's, which stay f32), and activations and their gradients are bf16.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/record.hpp"
#include "core/system/buffer.hpp"
#include "trainer/backend/backend.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/execution/executor.hpp"
#include "trainer/execution/memory_plan.hpp"

namespace plimsoll::trainer {

// How a graph is compiled.
struct Compilation {
  Fusion fusion;
  GradientPlan gradients;
  Lives lives;
  bool share_memory = false;  // place tensors by their lives
};
[[nodiscard]] Compilation compile_apart(const Graph& graph);  // every operator for itself
[[nodiscard]] Compilation compile_fused(const Graph& graph);  // relus fused, memory shared

class NetworkMemory {
 public:
  NetworkMemory(const Graph& graph, const Backend& backend, const FlatLayout& layout,
                const Compilation& compilation, const ExecutorOptions& options);

  [[nodiscard]] std::int64_t largest_batch() const { return largest_; }
  [[nodiscard]] const std::vector<InputSlot>& slots() const { return slots_; }
  [[nodiscard]] std::span<float> weights() const { return weights_.as<float>(); }
  [[nodiscard]] std::span<float> gradients() const { return gradients_.as<float>(); }
  [[nodiscard]] std::span<float> state() const { return state_.as<float>().first(state_size_); }

  // Views for a batch. The network's input is the slot's, or in bf16 the one converted copy of it.
  [[nodiscard]] View value(int tensor, std::int64_t batch, int slot) const;
  [[nodiscard]] View gradient(int tensor, std::int64_t batch) const;  // null when there is none
  [[nodiscard]] View scratch(int tensor, std::int64_t batch) const;   // as large as its gradient
  [[nodiscard]] bool reads_slot(const Op& op) const;

  // All operands of an operator; dx is the gradient of its first input.
  [[nodiscard]] Operands operands(int op, std::int64_t batch, int slot, Mode mode) const;

  // Parameters of an operator, as indices into the flat list: a tied layer has the embedding's.
  [[nodiscard]] const std::vector<std::size_t>& parameters(int op) const {
    return parameters_[static_cast<std::size_t>(op)];
  }
  [[nodiscard]] View weight(std::size_t parameter) const;         // f32
  [[nodiscard]] View kernel_weight(std::size_t parameter) const;  // what kernels read
  [[nodiscard]] View weight_gradient(std::size_t parameter) const;
  [[nodiscard]] std::size_t parameter_count() const { return layout_.parameters.size(); }

  StepState step;  // what kernels of dropout read
  [[nodiscard]] std::vector<MemoryItem> items() const;

 private:
  void place_parameters();
  void place_tensors();
  void place_workspaces(const Backend& backend);
  void place_input(int slots);
  [[nodiscard]] std::int64_t sample_elements(int tensor) const;
  [[nodiscard]] bool is_loss(int tensor) const;

  const Graph& graph_;
  const FlatLayout& layout_;
  const Compilation& compilation_;
  const DType dtype_;
  std::int64_t largest_ = 0;
  std::vector<std::vector<std::size_t>> parameters_;  // by op
  std::vector<bool> full_precision_;                  // by parameter: a norm's
  std::vector<std::vector<View>> op_state_;           // by op
  std::size_t state_size_ = 0;
  sys::Buffer weights_, half_weights_, gradients_, state_, activations_, scratch_, workspaces_,
      input_;
  std::byte* half_input_ = nullptr;
  std::vector<std::byte*> value_, gradient_;  // by tensor; null where there is none
  std::vector<View> workspace_;               // by op
  std::vector<InputSlot> slots_;
};

}  // namespace plimsoll::trainer
