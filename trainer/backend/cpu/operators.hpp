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
  [[nodiscard]] View need_weight(std::size_t index, std::int64_t elements, DType dtype) const;
  [[nodiscard]] View need_gradient(std::size_t index, std::int64_t elements, DType dtype) const;
  // The same of the operator's own parameter, which a tied layer has none of.
  [[nodiscard]] View need_weight(std::size_t index, DType dtype) const;
  // The same for what is f32 with every data type.
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
KernelPtr make_batch_norm(const Request& request, const BatchNorm& norm);
KernelPtr make_layer_norm(const Request& request, const LayerNorm& norm);
KernelPtr make_relu(const Request& request);
KernelPtr make_gelu(const Request& request, const Gelu& gelu);
KernelPtr make_add(const Request& request);
KernelPtr make_embedding(const Request& request, const Embedding& embedding);
KernelPtr make_attention(const Request& request, const Attention& attention);
KernelPtr make_dropout(const Request& request, const Dropout& dropout);
KernelPtr make_reshape(const Request& request);
KernelPtr make_softmax_cross_entropy(const Request& request, const SoftmaxCrossEntropy& loss);

// Views of one size, checked by the caller.
KernelPtr make_conversion(const View& from, const View& to, int threads);

Bytes pool_workspace(const Device& device, const Graph& graph, const Op& op, const Pool& pool,
                     std::int64_t batch, DType dtype);
Bytes batch_norm_workspace(const BatchNorm& norm);
// Of one that ends in a relu: the library keeps where it was positive.
Bytes batch_norm_relu_workspace(const Device& device, const Graph& graph, const Op& op,
                                std::int64_t batch, DType dtype);
bool batch_norm_fuses(const Device& device, const Graph& graph, const Op& op, std::int64_t batch,
                      DType dtype, Mode mode);
Bytes layer_norm_workspace(std::int64_t rows);
Bytes attention_workspace(const Shape& qkv, const Attention& attention, std::int64_t batch,
                          DType dtype);

}  // namespace plimsoll::trainer::cpu
