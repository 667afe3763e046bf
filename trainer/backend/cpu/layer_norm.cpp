// Layer norm over the last side: loops of our own, since the library's is its reference code.
//
// A row fits the nearest cache, so its passes (mean; variance; values) cost one trip to memory.
// Sums are taken in float over vector lanes. The workspace holds each row's mean and
// 1 / deviation. Backward gives dx and the gradients of the parameters in one pass over the rows;
// every thread sums the latter over its own rows, and they are added in the order of threads.

#include <cmath>
#include <cstring>
#include <vector>

#include "trainer/backend/cpu/loop.hpp"
#include "trainer/backend/cpu/numbers.hpp"
#include "trainer/backend/cpu/operators.hpp"
#include "trainer/backend/cpu/simd.hpp"

namespace plimsoll::trainer::cpu {
namespace {

struct Norm {
  const float* weight;
  const float* bias;
  float* mean;     // by row
  float* inverse;  // 1 / deviation, by row
  std::int64_t features;
  float epsilon;
};

template <class T>
[[gnu::always_inline]] inline void rows_forward(const Norm& norm, T* y, const T* x,
                                                std::int64_t begin, std::int64_t end) {
  const std::int64_t n = norm.features;
  const float share_of_one = 1.0F / static_cast<float>(n);
  const float* const weight = norm.weight;
  const float* const bias = norm.bias;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* const in = x + row * n;
    T* const out = y + row * n;
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) sum += wide(in[i]);
    const float mean = sum * share_of_one;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t i = 0; i < n; ++i) {
      const float centred = wide(in[i]) - mean;
      squares += centred * centred;
    }
    const float inverse = 1.0F / std::sqrt(squares * share_of_one + norm.epsilon);
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      put(out[i], (wide(in[i]) - mean) * inverse * weight[i] + bias[i]);
    }
    norm.mean[row] = mean;
    norm.inverse[row] = inverse;
  }
}

struct Sums {
  float* weight;
  float* bias;
};

// With g = dy weight and n = (x - mean) inverse: dx = inverse (g - mean(g) - n mean(g n)).
template <class T>
[[gnu::always_inline]] inline void rows_backward(const Norm& norm, T* dx, const T* x, const T* dy,
                                                 Sums sums, std::int64_t begin, std::int64_t end) {
  const std::int64_t n = norm.features;
  const float share_of_one = 1.0F / static_cast<float>(n);
  const float* const weight = norm.weight;
  float* const dweight = sums.weight;
  float* const dbias = sums.bias;
  std::memset(dweight, 0, static_cast<std::size_t>(n) * sizeof(float));
  std::memset(dbias, 0, static_cast<std::size_t>(n) * sizeof(float));
  for (std::int64_t row = begin; row < end; ++row) {
    const T* const in = x + row * n;
    const T* const gradient = dy + row * n;
    const float mean = norm.mean[row], inverse = norm.inverse[row];
    float plain = 0, along = 0;
#pragma omp simd reduction(+ : plain, along)
    for (std::int64_t i = 0; i < n; ++i) {
      const float d = wide(gradient[i]), normal = (wide(in[i]) - mean) * inverse;
      const float g = d * weight[i];
      plain += g;
      along += g * normal;
      dweight[i] += d * normal;
      dbias[i] += d;
    }
    if (dx == nullptr) continue;
    T* const out = dx + row * n;
    plain *= share_of_one;
    along *= share_of_one;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      const float normal = (wide(in[i]) - mean) * inverse;
      put(out[i], inverse * (wide(gradient[i]) * weight[i] - plain - normal * along));
    }
  }
}

PLIMSOLL_WIDEST void forward(const Norm& n, float* y, const float* x, std::int64_t begin,
                             std::int64_t end) {
  rows_forward(n, y, x, begin, end);
}
PLIMSOLL_WIDEST void forward(const Norm& n, Bf16* y, const Bf16* x, std::int64_t begin,
                             std::int64_t end) {
  rows_forward(n, y, x, begin, end);
}
PLIMSOLL_WIDEST void backward(const Norm& n, float* dx, const float* x, const float* dy, Sums s,
                              std::int64_t begin, std::int64_t end) {
  rows_backward(n, dx, x, dy, s, begin, end);
}
PLIMSOLL_WIDEST void backward(const Norm& n, Bf16* dx, const Bf16* x, const Bf16* dy, Sums s,
                              std::int64_t begin, std::int64_t end) {
  rows_backward(n, dx, x, dy, s, begin, end);
}

// `own`: room for the moments where the caller gave none.
Norm norm_of(const Operands& o, const LayerNorm& a, std::int64_t rows, float* own) {
  float* const workspace = o.workspace.data == nullptr ? own : in_place<float>(o.workspace);
  return {.weight = in_place<const float>(o.w[0]),
          .bias = in_place<const float>(o.w[1]),
          .mean = workspace,
          .inverse = workspace + rows,
          .features = a.features,
          .epsilon = static_cast<float>(a.epsilon)};
}

void check(const Request& r, const LayerNorm& a, bool own_moments) {
  const Operands& o = r.operands;
  static_cast<void>(r.need_weight(0));
  static_cast<void>(r.need_weight(1));
  static_cast<void>(r.need(o.x, r.x_elements(), "x", o.x.dtype));
  if (own_moments) return;
  static_cast<void>(r.need(o.workspace, 2 * r.x_elements() / a.features, "workspace"));
}

Cost cost(std::int64_t elements, DType dtype, double flop, double tensors) {
  const auto count = static_cast<double>(elements);
  return {Flop(flop * count), Bytes(tensors * static_cast<double>(size_of(dtype)) * count)};
}

template <class T>
KernelPtr forward_kernel(const Request& r, const LayerNorm& a) {
  const Operands& o = r.operands;
  const std::int64_t count = r.x_elements();
  // Evaluation without a workspace keeps the rows' moments to itself.
  const bool own_moments = o.mode == Mode::evaluate && o.workspace.data == nullptr;
  check(r, a, own_moments);
  static_cast<void>(r.need(o.y, count, "y", o.x.dtype));
  const auto own = std::make_shared<std::vector<float>>(
      static_cast<std::size_t>(own_moments ? 2 * count / a.features : 0));
  const int threads = r.device.threads;
  return std::make_unique<Loop>(
      o, cost(count, o.x.dtype, 8, 2),
      [=](const Operands& at) {
        const Norm norm = norm_of(at, a, count / a.features, own->data());
        const auto* const x = in_place<const T>(at.x);
        auto* const y = in_place<T>(at.y);
        share(threads, count / norm.features, 1,
              [&](std::int64_t begin, std::int64_t end, int) { forward(norm, y, x, begin, end); });
      },
      Bytes(static_cast<double>(own->size() * sizeof(float))));
}

template <class T>
KernelPtr backward_kernel(const Request& r, const LayerNorm& a) {
  const Operands& o = r.operands;
  const std::int64_t count = r.x_elements(), n = a.features;
  check(r, a, false);
  static_cast<void>(r.need(o.dy, count, "dy", o.x.dtype));
  if (o.dx.data != nullptr) static_cast<void>(r.need(o.dx, count, "dx", o.x.dtype));
  static_cast<void>(r.need_gradient(0));
  static_cast<void>(r.need_gradient(1));
  const int threads = r.device.threads;
  // The first thread sums in place, the others in lines of their own.
  const std::int64_t stride = (2 * n + 2 * kLineOfAny - 1) / kLineOfAny * kLineOfAny;
  const auto partial =
      std::make_shared<std::vector<float>>(static_cast<std::size_t>(stride * (threads - 1)));
  return std::make_unique<Loop>(
      o, cost(count, o.x.dtype, 11, 3),
      [=](const Operands& at) {
        const Norm norm = norm_of(at, a, count / n, nullptr);
        const auto* const x = in_place<const T>(at.x);
        const auto* const dy = in_place<const T>(at.dy);
        auto* const dx = in_place<T>(at.dx);
        float* const dweight = in_place<float>(at.dw[0]);
        float* const dbias = in_place<float>(at.dw[1]);
        std::fill(partial->begin(), partial->end(), 0.0F);
        share(threads, count / n, 1, [&](std::int64_t begin, std::int64_t end, int me) {
          float* const own = partial->data() + (me - 1) * stride;
          const Sums sums = me == 0 ? Sums{dweight, dbias} : Sums{own, own + n};
          backward(norm, dx, x, dy, sums, begin, end);
        });
        for (int other = 1; other < threads; ++other) {
          const float* const own = partial->data() + (other - 1) * stride;
#pragma omp simd
          for (std::int64_t i = 0; i < n; ++i) dweight[i] += own[i];
#pragma omp simd
          for (std::int64_t i = 0; i < n; ++i) dbias[i] += own[n + i];
        }
      },
      Bytes(static_cast<double>(partial->size() * sizeof(float))));
}

}  // namespace

Bytes layer_norm_workspace(std::int64_t rows) {
  return Bytes(2.0 * sizeof(float) * static_cast<double>(rows));
}

KernelPtr make_layer_norm(const Request& r, const LayerNorm& norm) {
  if (r.direction == Direction::backward_weights) return nullptr;  // one pass with backward_data
  return with_type(r.operands.x.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return r.direction == Direction::forward ? forward_kernel<T>(r, norm)
                                             : backward_kernel<T>(r, norm);
  });
}

}  // namespace plimsoll::trainer::cpu
