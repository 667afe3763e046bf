// Fixed loops. Each path is compiled for its instruction set by a target attribute and chosen at
// run time; nothing depends on the machine that builds.

#include "core/system/reference_kernels.hpp"

#include <array>

#include "core/system/provenance.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace plimsoll::sys {
namespace {

// Every lane runs x <- x * 1/2 + 1/2 from 0: it reaches exactly 1 within 25 rounds and stays there,
// so the answer is the number of lanes. Eight independent chains cover the latency of an FMA.
constexpr int kChains = 8;

double generic_f32(std::int64_t rounds) {
  constexpr int kLanes = 4 * kChains;
  std::array<float, kLanes> x{};
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (float& lane : x) lane = lane * 0.5F + 0.5F;
    // The compiler must believe that somebody looks at the values after every round.
    __asm__ volatile("" : : "r"(x.data()) : "memory");
  }
  double sum = 0;
  for (float lane : x) sum += static_cast<double>(lane);
  return sum;
}

template <int lanes>
double one_each(std::int64_t) {
  return lanes;
}

#if defined(__x86_64__)

__attribute__((target("avx512f"))) double avx512_f32(std::int64_t rounds) {
  const __m512 half = _mm512_set1_ps(0.5F);
  __m512 a = _mm512_setzero_ps(), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
  for (std::int64_t i = 0; i < rounds; ++i) {
    a = _mm512_fmadd_ps(a, half, half);
    b = _mm512_fmadd_ps(b, half, half);
    c = _mm512_fmadd_ps(c, half, half);
    d = _mm512_fmadd_ps(d, half, half);
    e = _mm512_fmadd_ps(e, half, half);
    f = _mm512_fmadd_ps(f, half, half);
    g = _mm512_fmadd_ps(g, half, half);
    h = _mm512_fmadd_ps(h, half, half);
    __asm__ volatile("" : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f), "+v"(g), "+v"(h));
  }
  double sum = 0;
  std::array<float, 16> lanes{};
  for (const __m512& chain : {a, b, c, d, e, f, g, h}) {
    _mm512_storeu_ps(lanes.data(), chain);
    for (float lane : lanes) sum += static_cast<double>(lane);
  }
  return sum;
}

__attribute__((target("avx2,fma"))) double avx2_f32(std::int64_t rounds) {
  const __m256 half = _mm256_set1_ps(0.5F);
  __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
  for (std::int64_t i = 0; i < rounds; ++i) {
    a = _mm256_fmadd_ps(a, half, half);
    b = _mm256_fmadd_ps(b, half, half);
    c = _mm256_fmadd_ps(c, half, half);
    d = _mm256_fmadd_ps(d, half, half);
    e = _mm256_fmadd_ps(e, half, half);
    f = _mm256_fmadd_ps(f, half, half);
    g = _mm256_fmadd_ps(g, half, half);
    h = _mm256_fmadd_ps(h, half, half);
    __asm__ volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(f), "+x"(g), "+x"(h));
  }
  double sum = 0;
  std::array<float, 8> lanes{};
  for (const __m256& chain : {a, b, c, d, e, f, g, h}) {
    _mm256_storeu_ps(lanes.data(), chain);
    for (float lane : lanes) sum += static_cast<double>(lane);
  }
  return sum;
}

// Every lane adds 1 x 1 + 1 x 1: after n rounds it holds 2 n, exact while that is below 2^24.
__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) double avx512_bf16(
    std::int64_t rounds) {
  const __m512 one = _mm512_set1_ps(1.0F);
  const __m512bh ones = _mm512_cvtne2ps_pbh(one, one);
  __m512 a = _mm512_setzero_ps(), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
  for (std::int64_t i = 0; i < rounds; ++i) {
    a = _mm512_dpbf16_ps(a, ones, ones);
    b = _mm512_dpbf16_ps(b, ones, ones);
    c = _mm512_dpbf16_ps(c, ones, ones);
    d = _mm512_dpbf16_ps(d, ones, ones);
    e = _mm512_dpbf16_ps(e, ones, ones);
    f = _mm512_dpbf16_ps(f, ones, ones);
    g = _mm512_dpbf16_ps(g, ones, ones);
    h = _mm512_dpbf16_ps(h, ones, ones);
    __asm__ volatile("" : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f), "+v"(g), "+v"(h));
  }
  double sum = 0;
  std::array<float, 16> lanes{};
  for (const __m512& chain : {a, b, c, d, e, f, g, h}) {
    _mm512_storeu_ps(lanes.data(), chain);
    for (float lane : lanes) sum += static_cast<double>(lane);
  }
  return sum;
}

double bf16_answer(std::int64_t rounds) { return 2.0 * 16 * kChains * static_cast<double>(rounds); }

#endif

}  // namespace

ComputeLoop generic_f32_loop() {
  constexpr int kLanes = 4 * kChains;
  return {"generic", generic_f32, one_each<kLanes>, 8'000'000, std::int64_t{2} * kLanes, 1};
}

ComputeLoop compute_f32_loop() {
#if defined(__x86_64__)
  if (has_instruction_set("avx512f"))
    return {"avx512f", avx512_f32, one_each<16 * kChains>, 16'000'000, 2 * 16 * kChains, 2};
  if (has_instruction_set("avx2") && has_instruction_set("fma"))
    return {"avx2 fma", avx2_f32, one_each<8 * kChains>, 24'000'000, 2 * 8 * kChains, 1};
#endif
  return generic_f32_loop();
}

std::optional<ComputeLoop> compute_bf16_loop() {
#if defined(__x86_64__)
  if (has_instruction_set("avx512_bf16") && has_instruction_set("avx512bw") &&
      has_instruction_set("avx512vl"))
    return ComputeLoop{"avx512_bf16", avx512_bf16, bf16_answer, 8'000'000, 4 * 16 * kChains, 3};
#endif
  return std::nullopt;
}

void fill_counting(std::span<std::uint64_t> words) {
  std::uint64_t next = 0;
  for (std::uint64_t& word : words) word = next++;
}

std::uint64_t counting_sum(std::uint64_t count) {
  if (count == 0) return 0;
  return count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
}

std::uint64_t stream_sum(std::span<const std::uint64_t> words) {
  std::array<std::uint64_t, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= words.size(); i += sums.size())
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += words[i + k];
  std::uint64_t total = 0;
  for (; i < words.size(); ++i) total += words[i];
  for (std::uint64_t sum : sums) total += sum;
  return total;
}

}  // namespace plimsoll::sys
