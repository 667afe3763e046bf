// The CPU backend: checks what it is asked for and hands it to the file of the operator.

#include <omp.h>

#include <string>
#include <variant>

#include "core/error.hpp"
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
                                DType) const override {
    const auto* const pool = std::get_if<Pool>(&op.attributes);
    return pool != nullptr ? pool_workspace(device_, graph, op, *pool, batch) : Bytes(0);
  }

  [[nodiscard]] KernelPtr make(const Graph& graph, const Op& op, Direction direction,
                               const Operands& operands) const override {
    expects(operands.batch >= 1, "an operator gets at least one sample");
    const Device device{device_.engine, threads_for(graph, op, direction, operands)};
    omp_set_num_threads(device.threads);  // oneDNN divides the work when a primitive is made
    const Request request{device, graph, op, direction, operands};
    try {
      return std::visit([&](const auto& attributes) { return make_one(request, attributes); },
                        op.attributes);
    } catch (const dnnl::error& error) {
      throw Error("oneDNN cannot make operator '" + op.name + "' (" + kind_of(op) + ", " +
                      to_string(direction) + "): " + error.what(),
                  kWhere, "use --dtype f32, another shape of this operator, or a smaller batch");
    }
  }

  [[nodiscard]] KernelPtr make_accumulate(const View&, const View&) const override {
    throw Error("the CPU backend cannot add gradients yet", kWhere, "use a graph without branches");
  }
  [[nodiscard]] KernelPtr make_convert(const View&, const View&) const override {
    throw Error("the CPU backend cannot convert yet", kWhere, "use --dtype f32");
  }

 private:
  template <class Attributes>
  static KernelPtr make_one(const Request& r, const Attributes&) {
    throw Error("the CPU backend has no " + kind_of(r.op) + " yet", "operator " + r.op.name,
                "use other operators");
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

View Request::need_weight(std::size_t index, DType dtype) const {
  return need(index < operands.w.size() ? operands.w[index] : View{.dtype = dtype},
              elements(op.parameters[index].shape), "w[" + std::to_string(index) + "]", dtype);
}

View Request::need_gradient(std::size_t index, DType dtype) const {
  return need(index < operands.dw.size() ? operands.dw[index] : View{.dtype = dtype},
              elements(op.parameters[index].shape), "dw[" + std::to_string(index) + "]", dtype);
}

float* Request::need(const View& view, std::int64_t count, const std::string& name) const {
  return static_cast<float*>(need(view, count, name, DType::f32).data);
}
float* Request::need_weight(std::size_t index) const {
  return static_cast<float*>(need_weight(index, DType::f32).data);
}
float* Request::need_gradient(std::size_t index) const {
  return static_cast<float*>(need_gradient(index, DType::f32).data);
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
