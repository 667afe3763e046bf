// Multiply-add chains for x86-64. Each kernel is compiled for its own instruction set and only
// called where the CPU has it. Accumulators: at least latency times instructions a cycle (4 x 2
// for FMA, 6 x 2 for the bf16 dot product), and no more than there are registers.

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "probes/cpu/flops_kernels.hpp"

namespace plimsoll::probes {
namespace {

constexpr int kChains = 12;      // ymm and zmm FMA; 16 ymm registers hold no more than 13
constexpr int kBf16Chains = 16;  // longer latency, 32 registers

// A value that the compiler must take as unknown.
template <class T>
T opaque(T value) {
  volatile T hidden = value;
  return hidden;
}

// Each chain a variable of its own: an array would live in memory. The empty assembly keeps the
// compiler from packing several chains into one vector.
template <class T>
double scalar() {
  T a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0, j = 0, k = 0, l = 0;
  const T one = opaque(T{1}), step = opaque(T{2});
  const auto next = [one, step](T& x) {
    x = x * one + step;
    __asm__("" : "+x"(x));
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
  }
  double sum = 0;
  for (const T x : {a, b, c, d, e, f, g, h, i, j, k, l}) sum += static_cast<double>(x);
  return sum;
}

template <std::size_t N, class T>
double sum_of(const std::array<T, N>& lanes) {
  double sum = 0;
  for (const T lane : lanes) sum += static_cast<double>(lane);
  return sum;
}

#define PLIMSOLL_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define PLIMSOLL_TARGET_AVX512 __attribute__((target("avx512f")))
#define PLIMSOLL_TARGET_BF16 __attribute__((target("avx512f,avx512bf16")))
#define PLIMSOLL_TARGET_AMX __attribute__((target("amx-tile,amx-bf16")))

PLIMSOLL_TARGET_AVX2 double avx2_f32() {
  __m256 acc[kChains];
  for (__m256& a : acc) a = _mm256_setzero_ps();
  const __m256 one = _mm256_set1_ps(opaque(1.0F));
  const __m256 step =
      _mm256_add_ps(_mm256_set1_ps(opaque(0.0F)), _mm256_setr_ps(1, 2, 3, 4, 5, 6, 7, 8));
  for (std::int64_t i = 0; i < kBlockIterations; ++i) {
#pragma GCC unroll 16
    for (int k = 0; k < kChains; ++k) acc[k] = _mm256_fmadd_ps(acc[k], one, step);
  }
  double sum = 0;
  for (const __m256& a : acc) {
    std::array<float, 8> lanes{};
    _mm256_storeu_ps(lanes.data(), a);
    sum += sum_of(lanes);
  }
  return sum;
}

PLIMSOLL_TARGET_AVX2 double avx2_f64() {
  __m256d acc[kChains];
  for (__m256d& a : acc) a = _mm256_setzero_pd();
  const __m256d one = _mm256_set1_pd(opaque(1.0));
  const __m256d step = _mm256_add_pd(_mm256_set1_pd(opaque(0.0)), _mm256_setr_pd(1, 2, 3, 4));
  for (std::int64_t i = 0; i < kBlockIterations; ++i) {
#pragma GCC unroll 16
    for (int k = 0; k < kChains; ++k) acc[k] = _mm256_fmadd_pd(acc[k], one, step);
  }
  double sum = 0;
  for (const __m256d& a : acc) {
    std::array<double, 4> lanes{};
    _mm256_storeu_pd(lanes.data(), a);
    sum += sum_of(lanes);
  }
  return sum;
}

PLIMSOLL_TARGET_AVX512 double avx512_f32() {
  __m512 acc[kChains];
  for (__m512& a : acc) a = _mm512_setzero_ps();
  const __m512 one = _mm512_set1_ps(opaque(1.0F));
  const __m512 step =
      _mm512_add_ps(_mm512_set1_ps(opaque(0.0F)),
                    _mm512_setr_ps(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
  for (std::int64_t i = 0; i < kBlockIterations; ++i) {
#pragma GCC unroll 16
    for (int k = 0; k < kChains; ++k) acc[k] = _mm512_fmadd_ps(acc[k], one, step);
  }
  double sum = 0;
  for (const __m512& a : acc) {
    std::array<float, 16> lanes{};
    _mm512_storeu_ps(lanes.data(), a);
    sum += sum_of(lanes);
  }
  return sum;
}

PLIMSOLL_TARGET_AVX512 double avx512_f64() {
  __m512d acc[kChains];
  for (__m512d& a : acc) a = _mm512_setzero_pd();
  const __m512d one = _mm512_set1_pd(opaque(1.0));
  const __m512d step =
      _mm512_add_pd(_mm512_set1_pd(opaque(0.0)), _mm512_setr_pd(1, 2, 3, 4, 5, 6, 7, 8));
  for (std::int64_t i = 0; i < kBlockIterations; ++i) {
#pragma GCC unroll 16
    for (int k = 0; k < kChains; ++k) acc[k] = _mm512_fmadd_pd(acc[k], one, step);
  }
  double sum = 0;
  for (const __m512d& a : acc) {
    std::array<double, 8> lanes{};
    _mm512_storeu_pd(lanes.data(), a);
    sum += sum_of(lanes);
  }
  return sum;
}

constexpr std::int16_t kBf16One = 0x3F80;

// acc += a0 * b0 + a1 * b1 with all of them one: two a lane and iteration.
PLIMSOLL_TARGET_BF16 double avx512_bf16() {
  __m512 acc[kBf16Chains];
  for (__m512& a : acc) a = _mm512_setzero_ps();
  const auto ones = reinterpret_cast<__m512bh>(_mm512_set1_epi16(opaque(kBf16One)));
  for (std::int64_t i = 0; i < kBlockIterations; ++i) {
#pragma GCC unroll 16
    for (int k = 0; k < kBf16Chains; ++k) acc[k] = _mm512_dpbf16_ps(acc[k], ones, ones);
  }
  double sum = 0;
  for (const __m512& a : acc) {
    std::array<float, 16> lanes{};
    _mm512_storeu_ps(lanes.data(), a);
    sum += sum_of(lanes);
  }
  return sum;
}

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> row_bytes{};
  std::array<std::uint8_t, 16> rows{};
};
static_assert(sizeof(TileConfig) == 64);

constexpr std::size_t kTileRows = 16, kTileRowBytes = 64, kTileLanes = kTileRows * 16;
constexpr double kTilePairs = 32;  // products added into one lane of a tile by one instruction

// Four result tiles in turn hide the latency of one (52 cycles at one start in 16).
PLIMSOLL_TARGET_AMX double amx_bf16() {
  TileConfig config;
  for (std::size_t tile = 0; tile < 8; ++tile) {
    config.rows[tile] = kTileRows;
    config.row_bytes[tile] = kTileRowBytes;
  }
  _tile_loadconfig(&config);
  alignas(64) std::array<std::int16_t, kTileRows * kTileRowBytes / 2> ones{};
  ones.fill(opaque(kBf16One));
  _tile_loadd(4, ones.data(), kTileRowBytes);
  _tile_loadd(5, ones.data(), kTileRowBytes);
  _tile_loadd(6, ones.data(), kTileRowBytes);
  _tile_loadd(7, ones.data(), kTileRowBytes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t i = 0; i < kBlockIterations; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  alignas(64) std::array<std::array<float, kTileLanes>, 4> lanes{};
  _tile_stored(0, lanes[0].data(), kTileRowBytes);
  _tile_stored(1, lanes[1].data(), kTileRowBytes);
  _tile_stored(2, lanes[2].data(), kTileRowBytes);
  _tile_stored(3, lanes[3].data(), kTileRowBytes);
  _tile_release();
  return sum_of(lanes[0]) + sum_of(lanes[1]) + sum_of(lanes[2]) + sum_of(lanes[3]);
}

std::string_view nothing_to_prepare() { return {}; }

// Linux hands out the tile registers on request, once for the process.
std::string_view ask_for_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0) return {};
  return "the kernel refuses the tile registers (arch_prctl)";
}

constexpr double sum_to(double n) { return n * (n + 1) / 2; }

constexpr FlopsKernel kKernels[] = {
    {"f32", "scalar", "", 2 * kChains, 16, 2 * kChains, scalar<float>, nothing_to_prepare},
    {"f64", "scalar", "", 2 * kChains, 16, 2 * kChains, scalar<double>, nothing_to_prepare},
    {"f32", "avx2", "avx2", 16 * kChains, 64, sum_to(8) * kChains, avx2_f32, nothing_to_prepare},
    {"f64", "avx2", "avx2", 8 * kChains, 32, sum_to(4) * kChains, avx2_f64, nothing_to_prepare},
    {"f32", "avx512", "avx512f", 32 * kChains, 64, sum_to(16) * kChains, avx512_f32,
     nothing_to_prepare},
    {"f64", "avx512", "avx512f", 16 * kChains, 32, sum_to(8) * kChains, avx512_f64,
     nothing_to_prepare},
    {"bf16", "avx512_bf16", "avx512_bf16", 64 * kBf16Chains, 128, 32 * kBf16Chains, avx512_bf16,
     nothing_to_prepare},
    {"bf16", "amx", "amx_bf16", 4 * 2 * kTilePairs* kTileLanes, 2048, 4 * kTilePairs* kTileLanes,
     amx_bf16, ask_for_tiles},
};

}  // namespace

std::span<const FlopsKernel> flops_kernels() { return kKernels; }

}  // namespace plimsoll::probes
