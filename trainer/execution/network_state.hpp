// What of a network on one rank lives from step to step: weights, gradients, running means, input
// slots. Activations are not here: how long they live is what execution modes differ in.
//
// Weights and their gradients are flat f32 buffers. In bf16 the kernels read bf16 copies of the
// weights (not of a norm's, which stay f32).

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/record.hpp"
#include "core/system/buffer.hpp"
#include "trainer/backend/backend.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/execution/executor.hpp"

namespace plimsoll::trainer {

class NetworkState {
 public:
  // Error when the graph does not end in a loss.
  NetworkState(const Graph& graph, const Backend& backend, const FlatLayout& layout,
               const ExecutorOptions& options);

  [[nodiscard]] std::int64_t largest_batch() const { return largest_; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const std::vector<InputSlot>& slots() const { return slots_; }
  [[nodiscard]] std::span<float> weights() const { return weights_.as<float>(); }
  [[nodiscard]] std::span<float> gradients() const { return gradients_.as<float>(); }
  [[nodiscard]] std::span<float> state() const { return state_.as<float>().first(state_size_); }
  void weights_changed() const;

  // Parameters of an operator, as indices into the flat list: a tied layer has the embedding's.
  [[nodiscard]] const std::vector<std::size_t>& parameters(int op) const {
    return parameters_[static_cast<std::size_t>(op)];
  }
  [[nodiscard]] View weight(std::size_t parameter) const;         // f32
  [[nodiscard]] View kernel_weight(std::size_t parameter) const;  // what kernels read
  [[nodiscard]] View weight_gradient(std::size_t parameter) const;
  [[nodiscard]] const std::vector<View>& op_state(int op) const {
    return op_state_[static_cast<std::size_t>(op)];
  }

  // Micro-batches: backward overwrites gradients; these keep what was there and add it again, an
  // operator at a time.
  void keep_gradients();
  void add_kept(int op);
  // Backward of an empty batch: zeros, or with `accumulate` what was there.
  void backward_of_nothing(BackwardListener& listener, bool accumulate);

  // Rows of `scores` (of the loss) whose largest is at their label, of positions each.
  [[nodiscard]] std::int64_t correct(const View& scores, int slot) const;

  StepState step;  // what kernels of dropout read
  [[nodiscard]] std::vector<MemoryItem> items() const;

 private:
  void place_parameters();
  void place_input(int slots);

  const Graph& graph_;
  const FlatLayout& layout_;
  const DType dtype_;
  std::int64_t largest_ = 0;
  std::vector<std::vector<std::size_t>> parameters_;  // by op
  std::vector<bool> full_precision_;                  // by parameter: a norm's
  std::vector<std::vector<View>> op_state_;           // by op
  std::size_t state_size_ = 0;
  sys::Buffer weights_, half_weights_, gradients_, state_, input_;
  std::vector<std::unique_ptr<Kernel>> half_copies_;
  std::vector<float> kept_;
  std::vector<InputSlot> slots_;
};

}  // namespace plimsoll::trainer
