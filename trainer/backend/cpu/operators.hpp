// The operators of the CPU backend: one factory per file, each for all directions.

#pragma once

#include <memory>
#include <string>

#include "trainer/backend/backend.hpp"
#include "trainer/backend/cpu/sequence.hpp"

namespace plimsoll::trainer::cpu {

// One operator to be made into a kernel.
struct Request {
  const Device& device;
  const Graph& graph;
  const Op& op;
  Direction direction;
  const Operands& operands;

  [[nodiscard]] const Shape& x_shape() const;  // of one sample
  [[nodiscard]] const Shape& y_shape() const;
  [[nodiscard]] std::int64_t x_elements() const;  // of the batch
  [[nodiscard]] std::int64_t y_elements() const;

  // An operand that this direction needs, of this type. Error naming the operator and the operand
  // when it is null, short, or of another type.
  [[nodiscard]] View need(const View& view, std::int64_t elements, const std::string& name,
                          DType dtype) const;
  [[nodiscard]] View need_weight(std::size_t index, DType dtype) const;    // operands.w
  [[nodiscard]] View need_gradient(std::size_t index, DType dtype) const;  // operands.dw
  // The same for operators that compute in f32 only.
  [[nodiscard]] float* need(const View& view, std::int64_t elements, const std::string& name) const;
  [[nodiscard]] float* need_weight(std::size_t index) const;
  [[nodiscard]] float* need_gradient(std::size_t index) const;
  // Type of views[index]; f32 where there is none (need() then says what is missing).
  [[nodiscard]] static DType type_of(const std::vector<View>& views, std::size_t index) {
    return index < views.size() ? views[index].dtype : DType::f32;
  }
};

using KernelPtr = std::unique_ptr<Kernel>;
KernelPtr make_linear(const Request& request, const Linear& linear);
KernelPtr make_convolution(const Request& request, const Convolution& convolution);
KernelPtr make_pool(const Request& request, const Pool& pool);
KernelPtr make_relu(const Request& request);
KernelPtr make_reshape(const Request& request);
KernelPtr make_softmax_cross_entropy(const Request& request, const SoftmaxCrossEntropy& loss);

Bytes pool_workspace(const Device& device, const Graph& graph, const Op& op, const Pool& pool,
                     std::int64_t batch);

}  // namespace plimsoll::trainer::cpu
