// Streams for x86-64: SSE2 is always there, AVX2 and AVX-512 are chosen at run time. The same
// loops three times, for intrinsics have no common type; each moves one cache line or more a turn.

#include <immintrin.h>

#include "core/system/provenance.hpp"
#include "probes/memory/stream_kernels.hpp"

namespace plimsoll::probes {
namespace {

#define PLIMSOLL_AVX2 __attribute__((target("avx2,fma")))
#define PLIMSOLL_AVX512 __attribute__((target("avx512f")))

// --- AVX-512 -------------------------------------------------------------------------------------
PLIMSOLL_AVX512 double read_512(const double* a, std::size_t count) {
  __m512d sum[8];
  for (__m512d& s : sum) s = _mm512_setzero_pd();
  for (std::size_t i = 0; i < count; i += 64) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) {
      sum[k] = _mm512_add_pd(sum[k], _mm512_load_pd(a + i + 8 * k));
    }
  }
  const __m512d left = _mm512_add_pd(_mm512_add_pd(sum[0], sum[1]), _mm512_add_pd(sum[2], sum[3]));
  const __m512d right = _mm512_add_pd(_mm512_add_pd(sum[4], sum[5]), _mm512_add_pd(sum[6], sum[7]));
  const __m512d all = _mm512_add_pd(left, right);
  double total = 0;
  for (int lane = 0; lane < 8; ++lane) total += all[lane];
  return total;
}
PLIMSOLL_AVX512 void write_512(double* a, double value, std::size_t count) {
  const __m512d v = _mm512_set1_pd(value);
  for (std::size_t i = 0; i < count; i += 32) {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 32; k += 8) _mm512_store_pd(a + i + k, v);
  }
}
PLIMSOLL_AVX512 void nt_write_512(double* a, double value, std::size_t count) {
  const __m512d v = _mm512_set1_pd(value);
  for (std::size_t i = 0; i < count; i += 32) {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 32; k += 8) _mm512_stream_pd(a + i + k, v);
  }
  _mm_sfence();
}
PLIMSOLL_AVX512 void copy_512(double* a, const double* b, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 32) {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 32; k += 8) _mm512_store_pd(a + i + k, _mm512_load_pd(b + i + k));
  }
}
PLIMSOLL_AVX512 void triad_512(double* a, const double* b, const double* c, double scale,
                               std::size_t count) {
  const __m512d s = _mm512_set1_pd(scale);
  for (std::size_t i = 0; i < count; i += 32) {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 32; k += 8) {
      const __m512d product = _mm512_load_pd(c + i + k);
      _mm512_store_pd(a + i + k, _mm512_fmadd_pd(s, product, _mm512_load_pd(b + i + k)));
    }
  }
}

// --- AVX2 ----------------------------------------------------------------------------------------
PLIMSOLL_AVX2 double read_256(const double* a, std::size_t count) {
  __m256d sum[8];
  for (__m256d& s : sum) s = _mm256_setzero_pd();
  for (std::size_t i = 0; i < count; i += 32) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) {
      sum[k] = _mm256_add_pd(sum[k], _mm256_load_pd(a + i + 4 * k));
    }
  }
  const __m256d left = _mm256_add_pd(_mm256_add_pd(sum[0], sum[1]), _mm256_add_pd(sum[2], sum[3]));
  const __m256d right = _mm256_add_pd(_mm256_add_pd(sum[4], sum[5]), _mm256_add_pd(sum[6], sum[7]));
  const __m256d all = _mm256_add_pd(left, right);
  return all[0] + all[1] + all[2] + all[3];
}
PLIMSOLL_AVX2 void write_256(double* a, double value, std::size_t count) {
  const __m256d v = _mm256_set1_pd(value);
  for (std::size_t i = 0; i < count; i += 32) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 32; k += 4) _mm256_store_pd(a + i + k, v);
  }
}
PLIMSOLL_AVX2 void nt_write_256(double* a, double value, std::size_t count) {
  const __m256d v = _mm256_set1_pd(value);
  for (std::size_t i = 0; i < count; i += 32) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 32; k += 4) _mm256_stream_pd(a + i + k, v);
  }
  _mm_sfence();
}
PLIMSOLL_AVX2 void copy_256(double* a, const double* b, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 32) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 32; k += 4) _mm256_store_pd(a + i + k, _mm256_load_pd(b + i + k));
  }
}
PLIMSOLL_AVX2 void triad_256(double* a, const double* b, const double* c, double scale,
                             std::size_t count) {
  const __m256d s = _mm256_set1_pd(scale);
  for (std::size_t i = 0; i < count; i += 32) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 32; k += 4) {
      const __m256d product = _mm256_load_pd(c + i + k);
      _mm256_store_pd(a + i + k, _mm256_fmadd_pd(s, product, _mm256_load_pd(b + i + k)));
    }
  }
}

// --- SSE2 ----------------------------------------------------------------------------------------
double read_128(const double* a, std::size_t count) {
  __m128d sum[8];
  for (__m128d& s : sum) s = _mm_setzero_pd();
  for (std::size_t i = 0; i < count; i += 16) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) sum[k] = _mm_add_pd(sum[k], _mm_load_pd(a + i + 2 * k));
  }
  double total = 0;
  for (const __m128d& s : sum) total += s[0] + s[1];
  return total;
}
void write_128(double* a, double value, std::size_t count) {
  const __m128d v = _mm_set1_pd(value);
  for (std::size_t i = 0; i < count; i += 16) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 16; k += 2) _mm_store_pd(a + i + k, v);
  }
}
void nt_write_128(double* a, double value, std::size_t count) {
  const __m128d v = _mm_set1_pd(value);
  for (std::size_t i = 0; i < count; i += 16) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 16; k += 2) _mm_stream_pd(a + i + k, v);
  }
  _mm_sfence();
}
void copy_128(double* a, const double* b, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 16) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 16; k += 2) _mm_store_pd(a + i + k, _mm_load_pd(b + i + k));
    __asm__ volatile("" : : : "memory");  // else this is recognised as memcpy
  }
}
void triad_128(double* a, const double* b, const double* c, double scale, std::size_t count) {
  const __m128d s = _mm_set1_pd(scale);
  for (std::size_t i = 0; i < count; i += 16) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 16; k += 2) {
      const __m128d product = _mm_mul_pd(s, _mm_load_pd(c + i + k));
      _mm_store_pd(a + i + k, _mm_add_pd(_mm_load_pd(b + i + k), product));
    }
  }
}

constexpr StreamKernels kAvx512 = {"avx512f",    read_512, write_512,
                                   nt_write_512, copy_512, triad_512};
constexpr StreamKernels kAvx2 = {"avx2", read_256, write_256, nt_write_256, copy_256, triad_256};
constexpr StreamKernels kSse2 = {"sse2", read_128, write_128, nt_write_128, copy_128, triad_128};

}  // namespace

const StreamKernels& stream_kernels() {
  if (sys::has_instruction_set("avx512f")) return kAvx512;
  if (sys::has_instruction_set("avx2") && sys::has_instruction_set("fma")) return kAvx2;
  return kSse2;
}

}  // namespace plimsoll::probes
