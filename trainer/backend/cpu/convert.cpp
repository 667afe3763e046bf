// From one data type to the other: bf16 copies of master weights, f32 copies of bf16 results.

#include <cstring>

#include "trainer/backend/cpu/loop.hpp"
#include "trainer/backend/cpu/numbers.hpp"
#include "trainer/backend/cpu/operators.hpp"
#include "trainer/backend/cpu/simd.hpp"

namespace plimsoll::trainer::cpu {
namespace {

PLIMSOLL_WIDEST void convert(Bf16* to, const float* from, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) put(to[i], from[i]);
}
PLIMSOLL_WIDEST void convert(float* to, const Bf16* from, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) put(to[i], wide(from[i]));
}
void convert(float* to, const float* from, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}
void convert(Bf16* to, const Bf16* from, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Bf16));
}

}  // namespace

KernelPtr make_conversion(const View& from, const View& to, int threads) {
  const std::int64_t count = to.elements;
  const Cost cost{Flop(0), Bytes(static_cast<double>(count) *
                                 static_cast<double>(size_of(from.dtype) + size_of(to.dtype)))};
  return with_type(from.dtype, [&](auto* source) {
    return with_type(to.dtype, [&](auto* target) -> KernelPtr {
      using In = std::remove_pointer_t<decltype(source)>;
      using Out = std::remove_pointer_t<decltype(target)>;
      Operands operands;
      operands.x = from;
      operands.y = to;
      return std::make_unique<Loop>(operands, cost, [=](const Operands& o) {
        const auto* const in = in_place<const In>(o.x);
        auto* const out = in_place<Out>(o.y);
        share(threads, count, kLineOfAny, [&](std::int64_t begin, std::int64_t end, int) {
          convert(out + begin, in + begin, end - begin);
        });
      });
    });
  });
}

}  // namespace plimsoll::trainer::cpu
