// Sums of two tensors: y = x + x2, and a gradient that joins another one.
//
// One loop of our own, in float whatever the type, which may end in a relu. Both may be done in
// place: an element is read before it is written.

#include "trainer/backend/cpu/add.hpp"

#include "trainer/backend/cpu/loop.hpp"
#include "trainer/backend/cpu/numbers.hpp"
#include "trainer/backend/cpu/operators.hpp"
#include "trainer/backend/cpu/simd.hpp"

namespace plimsoll::trainer::cpu {
namespace {

template <class T>
[[gnu::always_inline]] inline void sum_of(T* y, const T* a, const T* b, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) put(y[i], wide(a[i]) + wide(b[i]));
}
template <class T>
[[gnu::always_inline]] inline void largest_of(T* y, const T* a, const T* b, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = wide(a[i]) + wide(b[i]);
    put(y[i], value < 0 ? 0.0F : value);  // a NaN stays one
  }
}
PLIMSOLL_WIDEST void sum(float* y, const float* a, const float* b, std::int64_t count) {
  sum_of(y, a, b, count);
}
PLIMSOLL_WIDEST void sum(Bf16* y, const Bf16* a, const Bf16* b, std::int64_t count) {
  sum_of(y, a, b, count);
}
PLIMSOLL_WIDEST void sum_relu(float* y, const float* a, const float* b, std::int64_t count) {
  largest_of(y, a, b, count);
}
PLIMSOLL_WIDEST void sum_relu(Bf16* y, const Bf16* a, const Bf16* b, std::int64_t count) {
  largest_of(y, a, b, count);
}

}  // namespace

KernelPtr make_sum(const Operands& operands, int threads) {
  const View& y = operands.y;
  const std::int64_t count = y.elements;
  const bool relu = operands.activation == Activation::relu;
  const auto elements = static_cast<double>(count);
  const Cost cost{Flop(relu ? 2 * elements : elements),
                  Bytes(3.0 * static_cast<double>(size_of(y.dtype)) * elements)};
  return with_type(y.dtype, [&](auto* type) -> KernelPtr {
    using T = std::remove_pointer_t<decltype(type)>;
    return std::make_unique<Loop>(operands, cost, [=](const Operands& o) {
      auto* const out = in_place<T>(o.y);
      const auto* const left = in_place<const T>(o.x);
      const auto* const right = in_place<const T>(o.x2);
      share(threads, count, kLineOfAny, [&](std::int64_t begin, std::int64_t end, int) {
        const auto add = [&](auto loop) {
          loop(out + begin, left + begin, right + begin, end - begin);
        };
        if (relu) {
          add([](T* to, const T* a, const T* b, std::int64_t n) { sum_relu(to, a, b, n); });
        } else {
          add([](T* to, const T* a, const T* b, std::int64_t n) { sum(to, a, b, n); });
        }
      });
    });
  });
}

KernelPtr make_add(const Request& r) {
  Operands o = r.operands;
  const std::int64_t count = r.x_elements();
  o.y = r.need(o.y, count, "y", o.x.dtype);
  o.x = r.need(o.x, count, "x", o.x.dtype);
  o.x2 = r.need(o.x2, count, "x2", o.x.dtype);
  o.y.elements = count;
  return make_sum(o, r.device.threads);
}

}  // namespace plimsoll::trainer::cpu
