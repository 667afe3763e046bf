// What a device must provide to train a graph: buffers and one Kernel per operator and direction.
// The kernel probes time these very kernels, so a prediction speaks of the code that trains.
//
// A Kernel is made once for fixed shapes and buffers (that may be slow: primitives are chosen and
// created) and executed many times. On the CPU execute() has finished when it returns; the OpenMP
// team of the calling thread does the work.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/workload.hpp"

namespace plimsoll::trainer {

// Device memory that somebody else owns. `elements` of `dtype`; null data means "not wanted".
struct View {
  void* data = nullptr;
  std::int64_t elements = 0;
  DType dtype = DType::f32;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void execute() = 0;
  [[nodiscard]] virtual Cost counted() const = 0;  // from the shapes handed to the library
  [[nodiscard]] virtual std::string implementation() const = 0;  // "brgemm:avx512_core", ...
  // Memory that the kernel keeps for itself: scratchpads and reordered copies.
  [[nodiscard]] virtual Bytes scratch() const { return Bytes(0); }
};

// Operands of one operator for a batch: input(s) x, parameters w in Op order, output y, and the
// gradients of each. A loss has y = [batch] per-sample losses (a sum crosses ranks, never a mean).
//
// What a direction reads and writes (the rest may be null; a null or short one that is needed is
// an Error of make()):
//   linear, convolution  forward x w -> y;  backward_data dy w -> dx;  backward_weights x dy -> dw
//   pool                 forward x -> y workspace;  backward_data dy workspace -> dx
//   relu                 forward x -> y (may be x);  backward_data y dy -> dx (may be dy)
//   reshape              no kernel in any direction: give y the memory of x, dx that of dy
//   softmax_cross_entropy  forward x labels -> y;  backward_data x labels -> dx
struct Operands {
  std::int64_t batch = 1;
  View x, y, dx, dy;
  std::vector<View> w, dw;               // dw is overwritten, not accumulated
  const std::int32_t* labels = nullptr;  // loss only: [batch]
  float loss_scale = 1.0F;               // loss only: dx = (softmax - onehot) * loss_scale
  // Largest-pool index memory or the like, kept from forward to backward; sized by workspace().
  View workspace;
};

class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string name() const = 0;  // "cpu: oneDNN 2.6.3"
  [[nodiscard]] virtual Bytes workspace(const Graph&, const Op&, std::int64_t batch) const = 0;

  // Error when the backend cannot run the operator: names it and what is possible. A direction
  // that does nothing (reshape, backward_weights of relu) gives nullptr.
  [[nodiscard]] virtual std::unique_ptr<Kernel> make(const Graph& graph, const Op& op,
                                                     Direction direction,
                                                     const Operands& operands) const = 0;
};

// The CPU backend on oneDNN: f32, and bf16 for linear layers. `threads` is the OpenMP team of the
// thread that executes.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(int threads);

// w -= lr * v with v = momentum * v + g * gradient_scale, element-wise over flat buffers.
struct SgdStep {
  float learning_rate, momentum, gradient_scale;
};
void sgd_momentum(float* weights, float* velocity, const float* gradient, std::int64_t elements,
                  SgdStep step, int threads);

// What a loader does to make a batch: out[i] = rows[index[i]] * scale + shift, row after row, on
// the calling thread. The loader and the probe of it call this same function.
void gather_u8(float* out, const std::uint8_t* rows, std::int64_t row_elements,
               const std::int64_t* index, std::int64_t count, float scale, float shift);

}  // namespace plimsoll::trainer
