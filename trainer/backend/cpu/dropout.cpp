// Dropout by counter: whether element i of a sample is kept is a hash of the seed, the step, the
// sample's place in the global batch, the operator and i. Nothing is stored: backward computes the
// same mask again, and any number of ranks computes the same one.
//
// The hash is 32 bits wide so that it vectorises (two rounds of murmur3's finaliser, Appleby 2011);
// the seed, step, operator and sample are mixed into its two keys with 64 bits.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/error.hpp"
#include "trainer/backend/cpu/loop.hpp"
#include "trainer/backend/cpu/numbers.hpp"
#include "trainer/backend/cpu/operators.hpp"
#include "trainer/backend/cpu/simd.hpp"

namespace plimsoll::trainer::cpu {
namespace {

// splitmix64's finaliser: every bit of the input moves every bit of the result.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

struct Mask {
  std::uint32_t dropped_below;  // of 2^32
  float kept;                   // factor of what is kept
};

[[gnu::always_inline]] inline std::uint32_t finalised(std::uint32_t h) {
  h = (h ^ (h >> 16)) * 0x85EBCA6BU;
  h = (h ^ (h >> 13)) * 0xC2B2AE35U;
  return h ^ (h >> 16);
}

// Elements first, first + 1, ... of the sample that the key stands for.
template <class T>
[[gnu::always_inline]] inline void masked(T* out, const T* in, std::uint64_t key, Mask mask,
                                          std::int64_t first, std::int64_t count) {
  const auto low = static_cast<std::uint32_t>(key), high = static_cast<std::uint32_t>(key >> 32);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const auto element = static_cast<std::uint32_t>(first + i);
    const std::uint32_t hash = finalised(finalised(element * 0x9E3779B1U ^ low) + high);
    const std::uint32_t keep = hash < mask.dropped_below ? 0U : ~0U;  // all bits or none
    put(out[i], std::bit_cast<float>(std::bit_cast<std::uint32_t>(wide(in[i]) * mask.kept) & keep));
  }
}

PLIMSOLL_WIDEST void mask_out(float* out, const float* in, std::uint64_t key, Mask mask,
                              std::int64_t first, std::int64_t count) {
  masked(out, in, key, mask, first, count);
}
PLIMSOLL_WIDEST void mask_out(Bf16* out, const Bf16* in, std::uint64_t key, Mask mask,
                              std::int64_t first, std::int64_t count) {
  masked(out, in, key, mask, first, count);
}

// The operator by its name: its place in the graph may change with what stands around it.
std::uint64_t hash_of(const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3ULL;
  }
  return hash;
}

template <class T>
KernelPtr kernel(const Request& r, const View& from, Mask mask) {
  const std::int64_t count = r.x_elements(), sample = count / r.operands.batch;
  const auto elements = static_cast<double>(count);
  const Cost cost{Flop(elements), Bytes(2.0 * static_cast<double>(size_of(from.dtype)) * elements)};
  const int threads = r.device.threads;
  const bool nothing = mask.dropped_below == 0;
  const bool forward = r.direction == Direction::forward;
  const std::uint64_t name = hash_of(r.op.name);
  return std::make_unique<Loop>(r.operands, cost, [=](const Operands& o) {
    auto* const out = in_place<T>(forward ? o.y : o.dx);
    const auto* const in = in_place<const T>(forward ? o.x : o.dy);
    const StepState* const step = o.step;
    const std::uint64_t base =
        nothing ? 0
                : mixed(mixed(mixed(step->seed) ^ static_cast<std::uint64_t>(step->step)) ^ name);
    share(threads, count, kLineOfAny, [&](std::int64_t begin, std::int64_t end, int) {
      if (nothing) {
        if (out != in) {
          std::memcpy(out + begin, in + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
        }
        return;
      }
      for (std::int64_t i = begin; i < end;) {
        const std::int64_t index = i / sample, last = std::min(end, (index + 1) * sample);
        const auto global = static_cast<std::uint64_t>(step->first_sample + index);
        mask_out(out + i, in + i, mixed(base ^ global), mask, i - index * sample, last - i);
        i = last;
      }
    });
  });
}

}  // namespace

KernelPtr make_dropout(const Request& r, const Dropout& dropout) {
  if (r.direction == Direction::backward_weights) return nullptr;
  const Operands& o = r.operands;
  const bool forward = r.direction == Direction::forward;
  const bool drops = o.mode == Mode::train && dropout.rate > 0;
  if (drops && o.step == nullptr) {
    throw Error("operator '" + r.op.name + "' got no step", "cpu backend",
                "set Operands::step: what is dropped is a hash of it");
  }
  const Mask mask{.dropped_below = drops
                                       ? static_cast<std::uint32_t>(std::min(
                                             std::ldexp(dropout.rate, 32), std::ldexp(1.0, 32) - 1))
                                       : 0,
                  .kept = static_cast<float>(1.0 / (1.0 - (drops ? dropout.rate : 0.0)))};
  const std::int64_t count = r.x_elements();
  const DType dtype = forward ? o.x.dtype : o.dy.dtype;
  const View from = forward ? r.need(o.x, count, "x", dtype) : r.need(o.dy, count, "dy", dtype);
  static_cast<void>(forward ? r.need(o.y, count, "y", dtype) : r.need(o.dx, count, "dx", dtype));
  return with_type(dtype, [&](auto* type) {
    return kernel<std::remove_pointer_t<decltype(type)>>(r, from, mask);
  });
}

}  // namespace plimsoll::trainer::cpu
