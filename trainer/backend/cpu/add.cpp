// Sums of two tensors: y = x + x2, and a gradient that joins another one.
//
// One loop of our own, in float whatever the type. Both may be done in place: an element is read
// before it is written.

#include "trainer/backend/cpu/add.hpp"

#include <limits>

#include "trainer/backend/cpu/loop.hpp"
#include "trainer/backend/cpu/numbers.hpp"
#include "trainer/backend/cpu/operators.hpp"
#include "trainer/backend/cpu/simd.hpp"

namespace plimsoll::trainer::cpu {
namespace {

// y = max(a + b, least).
template <class T>
[[gnu::always_inline]] inline void sum_of(T* y, const T* a, const T* b, std::int64_t count,
                                          float least) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = wide(a[i]) + wide(b[i]);
    put(y[i], value < least ? least : value);  // keeps NaN
  }
}
PLIMSOLL_WIDEST void sum(float* y, const float* a, const float* b, std::int64_t count,
                         float least) {
  sum_of(y, a, b, count, least);
}
PLIMSOLL_WIDEST void sum(Bf16* y, const Bf16* a, const Bf16* b, std::int64_t count, float least) {
  sum_of(y, a, b, count, least);
}

}  // namespace

KernelPtr make_sum(const View& y, const View& a, const View& b, std::int64_t count, int threads,
                   bool relu) {
  const auto elements = static_cast<double>(count);
  const float least = relu ? 0.0F : -std::numeric_limits<float>::infinity();
  const Cost cost{Flop(relu ? 2 * elements : elements),
                  Bytes(3.0 * static_cast<double>(size_of(y.dtype)) * elements)};
  return with_type(y.dtype, [&](auto* type) -> KernelPtr {
    using T = std::remove_pointer_t<decltype(type)>;
    auto* const out = static_cast<T*>(y.data);
    const auto* const left = static_cast<const T*>(a.data);
    const auto* const right = static_cast<const T*>(b.data);
    return std::make_unique<Loop>(cost, [=] {
      share(threads, count, kLineOfAny, [&](std::int64_t begin, std::int64_t end, int) {
        sum(out + begin, left + begin, right + begin, end - begin, least);
      });
    });
  });
}

KernelPtr make_add(const Request& r) {
  const Operands& o = r.operands;
  const std::int64_t count = r.x_elements();
  const DType dtype = o.x.dtype;
  return make_sum(r.need(o.y, count, "y", dtype), r.need(o.x, count, "x", dtype),
                  r.need(o.x2, count, "x2", dtype), count, r.device.threads, o.relu);
}

}  // namespace plimsoll::trainer::cpu
