// Multiply-add chains for 64-bit ARM. Four pipes of latency four: sixteen accumulators of the 32
// registers. NEON is part of the architecture.

#include <arm_neon.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "probes/cpu/flops_kernels.hpp"

namespace plimsoll::probes {
namespace {

constexpr int kChains = 16;

template <class T>
T opaque(T value) {
  volatile T hidden = value;
  return hidden;
}

// Each chain a variable of its own: an array would live in memory. The empty assembly keeps the
// compiler from packing several chains into one vector.
template <class T>
double scalar() {
  T a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0, j = 0, k = 0, l = 0, m = 0,
    n = 0, o = 0, p = 0;
  const T one = opaque(T{1}), step = opaque(T{2});
  const auto next = [one, step](T& x) {
    x = x * one + step;
    __asm__("" : "+w"(x));
  };
  for (std::int64_t iteration = 0; iteration < kBlockIterations; ++iteration) {
    next(a);
    next(b);
    next(c);
    next(d);
    next(e);
    next(f);
    next(g);
    next(h);
    next(i);
    next(j);
    next(k);
    next(l);
    next(m);
    next(n);
    next(o);
    next(p);
  }
  double sum = 0;
  for (const T x : {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p}) sum += static_cast<double>(x);
  return sum;
}

double neon_f32() {
  float32x4_t acc[kChains];
  for (float32x4_t& a : acc) a = vdupq_n_f32(0);
  const float32x4_t one = vdupq_n_f32(opaque(1.0F)), step = vdupq_n_f32(opaque(2.0F));
  for (std::int64_t i = 0; i < kBlockIterations; ++i) {
#pragma GCC unroll 16
    for (int k = 0; k < kChains; ++k) acc[k] = vfmaq_f32(step, acc[k], one);
  }
  double sum = 0;
  for (const float32x4_t& a : acc) sum += static_cast<double>(vaddvq_f32(a));
  return sum;
}

double neon_f64() {
  float64x2_t acc[kChains];
  for (float64x2_t& a : acc) a = vdupq_n_f64(0);
  const float64x2_t one = vdupq_n_f64(opaque(1.0)), step = vdupq_n_f64(opaque(2.0));
  for (std::int64_t i = 0; i < kBlockIterations; ++i) {
#pragma GCC unroll 16
    for (int k = 0; k < kChains; ++k) acc[k] = vfmaq_f64(step, acc[k], one);
  }
  double sum = 0;
  for (const float64x2_t& a : acc) sum += vaddvq_f64(a);
  return sum;
}

std::string_view nothing_to_prepare() { return {}; }

constexpr FlopsKernel kKernels[] = {
    {"f32", "scalar", "", 2 * kChains, 16, 2 * kChains, scalar<float>, nothing_to_prepare},
    {"f64", "scalar", "", 2 * kChains, 16, 2 * kChains, scalar<double>, nothing_to_prepare},
    {"f32", "neon", "asimd", 8 * kChains, 48, 8 * kChains, neon_f32, nothing_to_prepare},
    {"f64", "neon", "asimd", 4 * kChains, 24, 4 * kChains, neon_f64, nothing_to_prepare},
};

}  // namespace

std::span<const FlopsKernel> flops_kernels() { return kKernels; }

}  // namespace plimsoll::probes
