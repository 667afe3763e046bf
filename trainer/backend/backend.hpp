// What a device must provide to train a graph: buffers and one Kernel per operator and direction.
// The kernel probes time these very kernels, so a prediction speaks of the code that trains.
//
// A Kernel is made once for fixed shapes and buffers (that may be slow: primitives are chosen and
// created) and executed many times. On the CPU execute() has finished when it returns; the OpenMP
// team of the calling thread does the work.

#pragma once

#include <cstdint>
#include <map>
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

struct Operands;

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void execute() = 0;
  [[nodiscard]] virtual Cost counted() const = 0;  // from the shapes handed to the library
  [[nodiscard]] virtual std::string implementation() const = 0;  // "brgemm:avx512_core", ...
  // Memory that the kernel keeps for itself: scratchpads and reordered copies.
  [[nodiscard]] virtual Bytes scratch() const { return Bytes(0); }
  // From now on works on these buffers: as many elements of the same types as those that it was
  // made for, null where those were null, the same where those were the same. A kernel of
  // make_accumulate takes sum as y and x, term as x2; one of make_convert from as x, to as y.
  virtual void bind(const Operands& operands);
};

enum class Mode { train, evaluate };

// What a forward kernel does to its output before it writes it, instead of kernels of its own:
//   y = activation(operator(x) + x2)      x2 only where it is a residual: Operands::x2
// A batch norm that ends in a relu undoes both in its backward_data, given the gradient of the
// relu's output; its workspace is then that of Backend::fused_workspace().
enum class Activation { none, relu, gelu_tanh, gelu_erf };
struct Epilogue {
  Activation activation = Activation::none;
  bool residual = false;
  [[nodiscard]] bool any() const { return residual || activation != Activation::none; }
};

// Where training is: what dropout hashes. Sample i of this batch is sample first_sample + i of the
// global batch of this step, so a mask does not depend on how many ranks there are.
struct StepState {
  std::uint64_t seed = 1;
  std::int64_t step = 0, first_sample = 0;
};

// Operands of one operator for a batch: input(s) x, parameters w in Op order, output y, and the
// gradients of each. A loss has y = [batch] per-sample losses (a sum crosses ranks, never a mean).
//
// What a direction reads and writes (the rest may be null; a null or short one that is needed is
// an Error of make()). Activations, their gradients and w have the run's data type; dw, state, the
// losses and parameters of norms are f32.
//   linear, convolution  forward x w -> y;  backward_data dy w -> dx;  backward_weights x dy -> dw
//   pool                 forward x -> y workspace;  backward_data dy workspace -> dx
//   batch_norm, layer_norm  forward x w -> y workspace state;  backward_data x dy w workspace ->
//                        dx dw (dx may be null: then dw only)
//   relu                 forward x -> y (may be x);  backward_data y dy -> dx (may be dy)
//   gelu                 forward x -> y;  backward_data x dy -> dx (may be dy)
//   add                  forward x x2 -> y (may be x or x2); no backward: both get dy
//   embedding            forward tokens w -> y;  backward_weights tokens dy -> dw
//   attention            forward x -> y workspace;  backward_data x dy workspace -> dx
//   dropout              forward x step -> y (may be x);  backward_data dy step -> dx (may be dy)
//   reshape              no kernel in any direction: give y the memory of x, dx that of dy
//   softmax_cross_entropy  forward x labels -> y;  backward_data x labels -> dx
// In Mode::evaluate only forward is made: batch_norm reads state instead of the batch's moments,
// dropout keeps everything.
struct Operands {
  std::int64_t batch = 1;
  Mode mode = Mode::train;
  View x, y, dx, dy;
  View x2;  // the second input of add, or a residual (Epilogue)
  Activation activation = Activation::none;
  std::vector<View> w, dw;               // dw is overwritten, not accumulated
  std::vector<View> state;               // as Op::state
  const std::int32_t* tokens = nullptr;  // embedding only: [batch, positions]
  const std::int32_t* labels = nullptr;  // loss only: [batch] or [batch, positions]
  float loss_scale = 1.0F;               // loss only: dx is multiplied by it
  const StepState* step = nullptr;       // dropout only: read at every execution
  // What an operator keeps from forward to backward: sized by workspace(), f32 elements.
  View workspace;
};

class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string name() const = 0;  // "cpu: oneDNN 2.6.3"
  [[nodiscard]] virtual Bytes workspace(const Graph&, const Op&, std::int64_t batch,
                                        DType dtype) const = 0;
  // Whether a kernel of this operator can end like this, forward and (batch norm) backward, and
  // gains by it.
  [[nodiscard]] virtual bool fuses(const Graph&, const Op&, const Epilogue&, std::int64_t /*batch*/,
                                   DType, Mode) const {
    return false;
  }
  [[nodiscard]] virtual Bytes fused_workspace(const Graph& graph, const Op& op, const Epilogue&,
                                              std::int64_t batch, DType dtype) const {
    return workspace(graph, op, batch, dtype);
  }

  // Error when the backend cannot run the operator: names it and what is possible. A direction
  // that computes() denies in every graph gives nullptr; whether a graph needs one that exists is
  // for the caller to ask.
  [[nodiscard]] virtual std::unique_ptr<Kernel> make(const Graph& graph, const Op& op,
                                                     Direction direction,
                                                     const Operands& operands) const = 0;
  // sum += term; both of one type and size. For tensors that several operators read.
  [[nodiscard]] virtual std::unique_ptr<Kernel> make_accumulate(const View& sum,
                                                                const View& term) const = 0;
  // to = from, rounded to nearest even when it becomes bf16.
  [[nodiscard]] virtual std::unique_ptr<Kernel> make_convert(const View& from,
                                                             const View& to) const = 0;
};

// The CPU backend on oneDNN. `threads` is the OpenMP team of the
// thread that executes.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(int threads);

// The libraries that this one computes with, as they were loaded, for reports: {"onednn", "2.6.3"}.
[[nodiscard]] std::map<std::string, std::string> backend_libraries();

// --- Optimizers over flat buffers, element by element. They return false when something that they
// wrote is not a finite number. g = gradient * gradient_scale. ---

// v = momentum * v + (g + weight_decay * w); w -= learning_rate * v.
struct SgdStep {
  float learning_rate, momentum, gradient_scale;
  float weight_decay = 0.0F;
};
bool sgd_momentum(float* weights, float* velocity, const float* gradient, std::int64_t elements,
                  SgdStep step, int threads);

// g += added_decay * w; m = beta1 * m + rest1 * g; v = beta2 * v + rest2 * g * g;
// w = w * (1 - shrinking_decay) - learning_rate * (m / correction1) / (sqrt(v / correction2) +
// epsilon). rest = 1 - beta, correction = 1 - beta^updates: given, since floats would round them.
struct AdamStep {
  float learning_rate, beta1, beta2, rest1, rest2, epsilon, gradient_scale;
  float correction1, correction2;
  float added_decay = 0.0F, shrinking_decay = 0.0F;
};
bool adamw(float* weights, float* first_moment, float* second_moment, const float* gradient,
           std::int64_t elements, AdamStep step, int threads);

// The same bits for any number of threads.
[[nodiscard]] double sum_of_squares(const float* values, std::int64_t elements, int threads);

// What a loader does to make a batch: out[i] = rows[index[i]] * scale + shift, row after row, on
// the calling thread. The loader and the probe of it call this same function.
void gather_u8(float* out, const std::uint8_t* rows, std::int64_t row_elements,
               const std::int64_t* index, std::int64_t count, float scale, float shift);

}  // namespace plimsoll::trainer
