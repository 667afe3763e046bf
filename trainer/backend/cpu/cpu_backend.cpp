// The CPU backend: checks what it is asked for and hands it to the file of the operator.

#include <omp.h>

#include <string>
#include <variant>

#include "core/error.hpp"
#include "trainer/backend/cpu/add.hpp"
#include "trainer/backend/cpu/operators.hpp"

namespace plimsoll::trainer {
namespace cpu {
namespace {

constexpr const char* kWhere = "cpu backend";

// Less work than this is done by one thread: waking a sleeping team costs some ten microseconds.
constexpr Flop kWorthATeam{4e6};
constexpr Bytes kTrafficWorthATeam{512.0 * 1024};

const Shape& shape_of(const Graph& graph, int tensor) {
  return graph.tensors[static_cast<std::size_t>(tensor)].shape;
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(int threads) : device_{dnnl::engine(dnnl::engine::kind::cpu, 0), threads} {}

  [[nodiscard]] std::string name() const override {
    return "cpu: oneDNN " + backend_libraries().at("onednn");
  }

  [[nodiscard]] Bytes workspace(const Graph& graph, const Op& op, std::int64_t batch,
                                DType dtype) const override {
    const Shape& x = shape_of(graph, op.inputs.front());
    if (const auto* a = std::get_if<Pool>(&op.attributes)) {
      return pool_workspace(device_, graph, op, *a, batch, dtype);
    }
    if (const auto* a = std::get_if<BatchNorm>(&op.attributes)) return batch_norm_workspace(*a);
    if (const auto* a = std::get_if<LayerNorm>(&op.attributes)) {
      return layer_norm_workspace(batch * elements(x) / a->features);
    }
    if (const auto* a = std::get_if<Attention>(&op.attributes)) {
      return attention_workspace(x, *a, batch, dtype);
    }
    return Bytes(0);
  }

  [[nodiscard]] bool fuses(const Graph& graph, const Op& op, const Epilogue& epilogue,
                           std::int64_t batch, DType dtype, Mode mode) const override {
    if (std::holds_alternative<Linear>(op.attributes)) return true;
    if (std::holds_alternative<Convolution>(op.attributes)) return !epilogue.residual;
    if (epilogue.residual || epilogue.activation != Activation::relu) return false;
    if (std::holds_alternative<BatchNorm>(op.attributes)) {
      return batch_norm_fuses(device_, graph, op, batch, dtype, mode);
    }
    return std::holds_alternative<Add>(op.attributes);
  }
  [[nodiscard]] Bytes fused_workspace(const Graph& graph, const Op& op, const Epilogue& epilogue,
                                      std::int64_t batch, DType dtype) const override {
    if (std::holds_alternative<BatchNorm>(op.attributes) && epilogue.any()) {
      return batch_norm_relu_workspace(device_, graph, op, batch, dtype);
    }
    return workspace(graph, op, batch, dtype);
  }

  [[nodiscard]] KernelPtr make(const Graph& graph, const Op& op, Direction direction,
                               const Operands& operands) const override {
    expects(operands.batch >= 1, "an operator gets at least one sample");
    const Device device{device_.engine, threads_for(graph, op, direction, operands)};
    omp_set_num_threads(device.threads);  // oneDNN divides the work when a primitive is made
    const Request request{device, graph, op, direction, operands};
    try {
      KernelPtr kernel = std::visit(
          [&](const auto& attributes) { return make_one(request, attributes); }, op.attributes);
      if (auto* const sequence = dynamic_cast<Sequence*>(kernel.get()))
        sequence->made_for(operands);
      return kernel;
    } catch (const dnnl::error& error) {
      throw Error("oneDNN cannot make operator '" + op.name + "' (" + kind_of(op) + ", " +
                      to_string(direction) + "): " + error.what(),
                  kWhere, "use --dtype f32, another shape of this operator, or a smaller batch");
    }
  }

  [[nodiscard]] KernelPtr make_accumulate(const View& sum, const View& term) const override {
    same_size(sum, term, "the gradients that are added");
    if (sum.dtype != term.dtype) {
      throw Error("gradients of " + to_string(sum.dtype) + " and " + to_string(term.dtype) +
                      " cannot be added",
                  kWhere, "convert one of them first");
    }
    Operands operands;
    operands.y = operands.x = sum;
    operands.x2 = term;
    return make_sum(operands, team_for(3 * bytes_of(sum)));
  }
  [[nodiscard]] KernelPtr make_convert(const View& from, const View& to) const override {
    same_size(from, to, "what is converted and its copy");
    return make_conversion(from, to, team_for(bytes_of(from) + bytes_of(to)));
  }

 private:
  static double bytes_of(const View& view) {
    return static_cast<double>(view.elements) * static_cast<double>(size_of(view.dtype));
  }
  [[nodiscard]] int team_for(double bytes) const {
    return Bytes(bytes) < kTrafficWorthATeam ? 1 : device_.threads;
  }
  static void same_size(const View& a, const View& b, const std::string& what) {
    if (a.data != nullptr && b.data != nullptr && a.elements == b.elements) return;
    throw Error(what + " have " + std::to_string(a.data == nullptr ? 0 : a.elements) + " and " +
                    std::to_string(b.data == nullptr ? 0 : b.elements) + " elements",
                kWhere, "give two buffers of one size");
  }
  [[nodiscard]] int threads_for(const Graph& graph, const Op& op, Direction direction,
                                const Operands& operands) const {
    const Cost cost = cost_of(graph, op, direction, operands.batch, DType::f32);
    return cost.flop < kWorthATeam && cost.bytes < kTrafficWorthATeam ? 1 : device_.threads;
  }
  static KernelPtr make_one(const Request& r, const Linear& a) { return make_linear(r, a); }
  static KernelPtr make_one(const Request& r, const Convolution& a) {
    return make_convolution(r, a);
  }
  static KernelPtr make_one(const Request& r, const Pool& a) { return make_pool(r, a); }
  static KernelPtr make_one(const Request& r, const Relu&) { return make_relu(r); }
  static KernelPtr make_one(const Request& r, const BatchNorm& a) { return make_batch_norm(r, a); }
  static KernelPtr make_one(const Request& r, const LayerNorm& a) { return make_layer_norm(r, a); }
  static KernelPtr make_one(const Request& r, const Gelu& a) { return make_gelu(r, a); }
  static KernelPtr make_one(const Request& r, const Add&) {
    return r.direction == Direction::forward ? make_add(r) : nullptr;
  }
  static KernelPtr make_one(const Request& r, const Embedding& a) { return make_embedding(r, a); }
  static KernelPtr make_one(const Request& r, const Attention& a) { return make_attention(r, a); }
  static KernelPtr make_one(const Request& r, const Dropout& a) { return make_dropout(r, a); }
  static KernelPtr make_one(const Request& r, const Reshape&) { return make_reshape(r); }
  static KernelPtr make_one(const Request& r, const SoftmaxCrossEntropy& a) {
    return make_softmax_cross_entropy(r, a);
  }

  Device device_;
};

}  // namespace

const Shape& Request::x_shape() const { return shape_of(graph, op.inputs.front()); }
const Shape& Request::y_shape() const { return shape_of(graph, op.output); }
std::int64_t Request::x_elements() const { return operands.batch * elements(x_shape()); }
std::int64_t Request::y_elements() const { return operands.batch * elements(y_shape()); }

View Request::need(const View& view, std::int64_t count, const std::string& name,
                   DType dtype) const {
  const std::string operand =
      name + " of operator '" + op.name + "' (" + kind_of(op) + ", " + to_string(direction) + ")";
  if (view.dtype != dtype) {
    throw Error(operand + " is " + to_string(view.dtype) + ", and the CPU backend needs it in " +
                    to_string(dtype),
                kWhere, "use --dtype f32 with --device cpu");
  }
  if (view.data == nullptr || view.elements < count) {
    throw Error(operand + " has " + std::to_string(view.data == nullptr ? 0 : view.elements) +
                    " elements and needs " + std::to_string(count),
                kWhere, "give every operand that the direction reads or writes its whole buffer");
  }
  return view;
}

View Request::need_weight(std::size_t index, std::int64_t count, DType dtype) const {
  return need(index < operands.w.size() ? operands.w[index] : View{.dtype = dtype}, count,
              "w[" + std::to_string(index) + "]", dtype);
}
View Request::need_gradient(std::size_t index, std::int64_t count, DType dtype) const {
  return need(index < operands.dw.size() ? operands.dw[index] : View{.dtype = dtype}, count,
              "dw[" + std::to_string(index) + "]", dtype);
}
View Request::need_weight(std::size_t index, DType dtype) const {
  return need_weight(index, elements(op.parameters[index].shape), dtype);
}

float* Request::need(const View& view, std::int64_t count, const std::string& name) const {
  return static_cast<float*>(need(view, count, name, DType::f32).data);
}
float* Request::need_weight(std::size_t index) const {
  return static_cast<float*>(need_weight(index, DType::f32).data);
}
float* Request::need_gradient(std::size_t index) const {
  const std::int64_t count = elements(op.parameters[index].shape);
  return static_cast<float*>(need_gradient(index, count, DType::f32).data);
}

}  // namespace cpu

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  if (threads < 1) {
    throw usage_error("a worker cannot compute with " + std::to_string(threads) + " threads",
                      "--threads", "use 1 or more");
  }
  return std::make_unique<cpu::CpuBackend>(threads);
}

}  // namespace plimsoll::trainer
