// The inner loops of memory.stream_bandwidth, by hand, so that what is measured is what is said:
// a compiler turns a plain copy loop into memcpy, which picks its own stores.

#pragma once

#include <cstddef>
#include <string_view>

namespace plimsoll::probes {

// All pointers are aligned to 64 bytes, counts are multiples of kStreamStep doubles.
inline constexpr std::size_t kStreamStep = 64;

struct StreamKernels {
  std::string_view instruction_set;                    // "avx512f", "avx2", "sse2", "portable"
  double (*read)(const double* a, std::size_t count);  // returns the sum
  void (*write)(double* a, double value, std::size_t count);
  void (*nt_write)(double* a, double value, std::size_t count);  // null: no such stores here
  void (*copy)(double* a, const double* b, std::size_t count);
  void (*triad)(double* a, const double* b, const double* c, double scale, std::size_t count);
};

// The widest that this CPU runs.
[[nodiscard]] const StreamKernels& stream_kernels();

}  // namespace plimsoll::probes
