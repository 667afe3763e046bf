// Post-ops of the library.

#include "trainer/backend/cpu/epilogue.hpp"

namespace plimsoll::trainer::cpu {

Epilogue epilogue_of(const Request& request) {
  const bool adds = std::holds_alternative<Add>(request.op.attributes);
  return {.activation = request.operands.activation,
          .residual = !adds && request.operands.x2.data != nullptr};
}

dnnl::primitive_attr ending(const Epilogue& epilogue, const Desc& residual) {
  dnnl::primitive_attr attributes = own_scratchpad();
  dnnl::post_ops post;
  if (epilogue.residual) post.append_binary(dnnl::algorithm::binary_add, residual);
  switch (epilogue.activation) {
    case Activation::none:
      break;
    case Activation::relu:
      post.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
      break;
    case Activation::gelu_tanh:
      post.append_eltwise(1.0F, dnnl::algorithm::eltwise_gelu_tanh, 0.0F, 0.0F);
      break;
    case Activation::gelu_erf:
      post.append_eltwise(1.0F, dnnl::algorithm::eltwise_gelu_erf, 0.0F, 0.0F);
      break;
  }
  attributes.set_post_ops(post);
  return attributes;
}

int residual_argument() { return DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1; }

Cost epilogue_cost(const Epilogue& epilogue, double outputs, DType dtype) {
  double each = epilogue.residual ? 1 : 0;
  if (epilogue.activation == Activation::relu) each += 1;
  if (epilogue.activation == Activation::gelu_tanh) each += 9;
  if (epilogue.activation == Activation::gelu_erf) each += 5;
  const double read = epilogue.residual ? static_cast<double>(size_of(dtype)) * outputs : 0;
  return {Flop(each * outputs), Bytes(read)};
}

}  // namespace plimsoll::trainer::cpu
