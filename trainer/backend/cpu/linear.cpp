// Linear layer: y[m,n] = x[m,k] w[n,k]^T + b[n], as oneDNN matmuls on the plain layouts.
//
// Why matmul and not inner_product: on plain layouts inner_product falls back to a GEMM that is up
// to 25 % slower at small batches, and with blocked weights the reorder costs more than it gains.
// The bias gradient is a matmul with a row of ones: oneDNN's own reduction is its reference loop.
//
// Rows are the samples, or all positions of all samples. A tied layer is handed the embedding's
// table as its weight and knows nothing of it.
//
// Forward may end in a residual and an activation: post-ops, on sums that are still in registers.
//
// Data types: f32, or bf16 for x, w, y and their gradients alike; the bias and the gradients of
// parameters may be f32 beside bf16. Sums are f32 inside in any case.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "trainer/backend/cpu/epilogue.hpp"

namespace plimsoll::trainer::cpu {
namespace {

// A two-dimensional operand: logical shape, how it lies in memory, and where.
struct Matrix {
  View view;
  std::int64_t rows, columns;
  Tag tag = Tag::ab;

  [[nodiscard]] Desc desc() const { return plain({rows, columns}, view.dtype, tag); }
};

void add_matmul(Sequence& sequence, const Device& device, const Matrix& src, const Matrix& weights,
                const Matrix& dst, const Matrix* bias = nullptr, const Epilogue& epilogue = {},
                const Matrix* residual = nullptr) {
  const auto operation =
      bias != nullptr ? dnnl::matmul::desc(src.desc(), weights.desc(), bias->desc(), dst.desc())
                      : dnnl::matmul::desc(src.desc(), weights.desc(), dst.desc());
  const dnnl::matmul::primitive_desc chosen(operation, ending(epilogue, dst.desc()), device.engine);
  const auto wrap = [&](const Matrix& m) { return sequence.wrap(m.desc(), m.view.data); };
  Sequence::Arguments arguments{
      {DNNL_ARG_SRC, wrap(src)}, {DNNL_ARG_WEIGHTS, wrap(weights)}, {DNNL_ARG_DST, wrap(dst)}};
  if (bias != nullptr) arguments.emplace_back(DNNL_ARG_BIAS, wrap(*bias));
  if (residual != nullptr) arguments.emplace_back(residual_argument(), wrap(*residual));
  sequence.add<dnnl::matmul>(chosen, std::move(arguments));
}

Cost sum(const Cost& a, const Cost& b) { return {a.flop + b.flop, a.bytes + b.bytes}; }

// A row of ones that the kernel keeps: multiplied by a matrix it sums the columns.
Matrix ones(Sequence& sequence, std::int64_t columns, DType dtype) {
  Matrix row{.view = {.data = nullptr, .elements = columns, .dtype = dtype},
             .rows = 1,
             .columns = columns};
  const dnnl::memory memory = sequence.own(row.desc());
  sequence.keep(memory);
  row.view.data = memory.get_data_handle();
  if (dtype == DType::f32) {
    std::fill_n(static_cast<float*>(row.view.data), columns, 1.0F);
  } else {
    constexpr std::uint16_t kOne = 0x3F80;  // the upper half of 1.0F
    std::fill_n(static_cast<std::uint16_t*>(row.view.data), columns, kOne);
  }
  return row;
}

// Multiply-adds of the product, one addition an output for the bias; every operand once.
Cost cost(const Matrix& src, const Matrix& weights, const Matrix& dst, double outputs,
          const Matrix* bias) {
  const auto moved = [](const Matrix& m) { return static_cast<double>(m.desc().get_size()); };
  const double multiply_adds = elements_of(dst.desc()) * static_cast<double>(src.columns);
  return {Flop(2 * multiply_adds + (bias != nullptr ? outputs : 0)),
          Bytes(moved(src) + moved(weights) + moved(dst) + (bias != nullptr ? moved(*bias) : 0))};
}

}  // namespace

KernelPtr make_linear(const Request& r, const Linear& linear) {
  const Operands& o = r.operands;
  const std::int64_t n = linear.out_features, k = linear.in_features;
  const std::int64_t m = r.y_elements() / n;
  const auto outputs = static_cast<double>(m * n);
  auto sequence = std::make_unique<Sequence>(r.device);

  switch (r.direction) {
    case Direction::forward: {
      const Matrix x{r.need(o.x, m * k, "x", o.x.dtype), m, k};
      const Matrix w{r.need_weight(0, n * k, o.x.dtype), k, n, Tag::ba};
      const Matrix y{r.need(o.y, m * n, "y", o.x.dtype), m, n};
      Matrix bias{{}, 1, n};
      if (linear.bias) bias.view = r.need_weight(1, n, r.type_of(o.w, 1));
      const Matrix* const added = linear.bias ? &bias : nullptr;
      const Epilogue epilogue = epilogue_of(r);
      Matrix residual{{}, m, n};
      if (epilogue.residual) residual.view = r.need(o.x2, m * n, "x2", o.x.dtype);
      add_matmul(*sequence, r.device, x, w, y, added, epilogue,
                 epilogue.residual ? &residual : nullptr);
      sequence->count(
          sum(cost(x, w, y, outputs, added), epilogue_cost(epilogue, outputs, o.x.dtype)));
      break;
    }
    case Direction::backward_data: {
      const Matrix dy{r.need(o.dy, m * n, "dy", o.dy.dtype), m, n};
      const Matrix w{r.need_weight(0, n * k, o.dy.dtype), n, k};
      const Matrix dx{r.need(o.dx, m * k, "dx", o.dy.dtype), m, k};
      add_matmul(*sequence, r.device, dy, w, dx);
      sequence->count(cost(dy, w, dx, outputs, nullptr));
      break;
    }
    case Direction::backward_weights: {
      const View gradient = r.need(o.dy, m * n, "dy", o.x.dtype);
      const Matrix dy{gradient, n, m, Tag::ba};
      const Matrix x{r.need(o.x, m * k, "x", o.x.dtype), m, k};
      const Matrix dw{r.need_gradient(0, n * k, r.type_of(o.dw, 0)), n, k};
      Matrix db{{}, 1, n};
      if (linear.bias) db.view = r.need_gradient(1, n, r.type_of(o.dw, 1));
      add_matmul(*sequence, r.device, dy, x, dw);
      if (linear.bias) {
        const Matrix rows{gradient, m, n};
        add_matmul(*sequence, r.device, ones(*sequence, m, o.x.dtype), rows, db);
      }
      sequence->count(cost(dy, x, dw, outputs, linear.bias ? &db : nullptr));
      break;
    }
  }
  return sequence;
}

}  // namespace plimsoll::trainer::cpu
