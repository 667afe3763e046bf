// Streams for 64-bit ARM: the compiler makes NEON of them. There are no non-temporal stores that
// C++ can ask for, so nt_write is absent.

#include "probes/memory/stream_kernels.hpp"

namespace plimsoll::probes {
namespace {

double read(const double* a, std::size_t count) {
  double sum[16] = {};
  for (std::size_t i = 0; i < count; i += 16) {
    for (std::size_t k = 0; k < 16; ++k) sum[k] += a[i + k];
  }
  double total = 0;
  for (const double s : sum) total += s;
  return total;
}
void write(double* a, double value, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 16) {
    for (std::size_t k = 0; k < 16; ++k) a[i + k] = value;
    __asm__ volatile("" : : : "memory");
  }
}
void copy(double* a, const double* b, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 16) {
    for (std::size_t k = 0; k < 16; ++k) a[i + k] = b[i + k];
    __asm__ volatile("" : : : "memory");  // else this is recognised as memcpy
  }
}
void triad(double* a, const double* b, const double* c, double scale, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + scale * c[i];
}

constexpr StreamKernels kPortable = {"portable", read, write, nullptr, copy, triad};

}  // namespace

const StreamKernels& stream_kernels() { return kPortable; }

}  // namespace plimsoll::probes
