// Linear layer: y[m,n] = x[m,k] w[n,k]^T + b[n], as oneDNN matmuls on the plain layouts.
//
// Why matmul and not inner_product: on plain layouts inner_product falls back to a GEMM that is up
// to 25 % slower at small batches, and with blocked weights the reorder costs more than it gains.
// The bias gradient is a matmul with a row of ones: oneDNN's own reduction is its reference loop.

#include <algorithm>
#include <utility>

#include "trainer/backend/cpu/operators.hpp"

namespace plimsoll::trainer::cpu {
namespace {

struct Matmul {
  Desc src, weights, dst;
};

void add_matmul(Sequence& sequence, const Device& device, const Matmul& shape, float* src,
                float* weights, float* dst, float* bias = nullptr) {
  const Desc bias_row = f32({1, shape.dst.dims()[1]}, Tag::ab);
  const auto operation = bias != nullptr
                             ? dnnl::matmul::desc(shape.src, shape.weights, bias_row, shape.dst)
                             : dnnl::matmul::desc(shape.src, shape.weights, shape.dst);
  const dnnl::matmul::primitive_desc chosen(operation, own_scratchpad(), device.engine);
  Sequence::Arguments arguments{{DNNL_ARG_SRC, sequence.wrap(shape.src, src)},
                                {DNNL_ARG_WEIGHTS, sequence.wrap(shape.weights, weights)},
                                {DNNL_ARG_DST, sequence.wrap(shape.dst, dst)}};
  if (bias != nullptr) arguments.emplace_back(DNNL_ARG_BIAS, sequence.wrap(bias_row, bias));
  sequence.add<dnnl::matmul>(chosen, std::move(arguments));
}

// Multiply-adds of the product, one addition per output for the bias; every operand once.
Cost cost(const Matmul& shape, bool bias, double outputs, double bias_elements) {
  const double multiply_adds = elements_of(shape.dst) * static_cast<double>(shape.src.dims()[1]);
  const double moved = elements_of(shape.src) + elements_of(shape.weights) + elements_of(shape.dst);
  return {Flop(2 * multiply_adds + (bias ? outputs : 0)),
          Bytes(sizeof(float) * (moved + (bias ? bias_elements : 0)))};
}

}  // namespace

KernelPtr make_linear(const Request& request, const Linear& linear) {
  const Operands& operands = request.operands;
  const std::int64_t m = request.y_elements() / linear.out_features;
  const std::int64_t n = linear.out_features, k = linear.in_features;
  auto sequence = std::make_unique<Sequence>(request.device);
  const auto outputs = static_cast<double>(m * n);
  const auto add = [&](const Matmul& shape, float* src, float* weights, float* dst,
                       float* bias = nullptr) {
    add_matmul(*sequence, request.device, shape, src, weights, dst, bias);
  };

  switch (request.direction) {
    case Direction::forward: {
      const Matmul product{f32({m, k}, Tag::ab), f32({k, n}, Tag::ba), f32({m, n}, Tag::ab)};
      add(product, request.need(operands.x, m * k, "x"), request.need_weight(0),
          request.need(operands.y, m * n, "y"), linear.bias ? request.need_weight(1) : nullptr);
      sequence->count(cost(product, linear.bias, outputs, static_cast<double>(n)));
      break;
    }
    case Direction::backward_data: {
      const Matmul product{f32({m, n}, Tag::ab), f32({n, k}, Tag::ab), f32({m, k}, Tag::ab)};
      add(product, request.need(operands.dy, m * n, "dy"), request.need_weight(0),
          request.need(operands.dx, m * k, "dx"));
      sequence->count(cost(product, false, 0, 0));
      break;
    }
    case Direction::backward_weights: {
      const Matmul product{f32({n, m}, Tag::ba), f32({m, k}, Tag::ab), f32({n, k}, Tag::ab)};
      float* const dy = request.need(operands.dy, m * n, "dy");
      add(product, dy, request.need(operands.x, m * k, "x"), request.need_gradient(0));
      if (linear.bias) {
        const Matmul sums{f32({1, m}, Tag::ab), f32({m, n}, Tag::ab), f32({1, n}, Tag::ab)};
        const dnnl::memory ones = sequence->own(sums.src);
        auto* const one = static_cast<float*>(ones.get_data_handle());
        std::fill_n(one, m, 1.0F);
        sequence->keep(ones);
        add(sums, one, dy, request.need_gradient(1));
      }
      sequence->count(cost(product, linear.bias, outputs, static_cast<double>(n)));
      break;
    }
  }
  return sequence;
}

}  // namespace plimsoll::trainer::cpu
