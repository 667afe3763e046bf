// Kernels of memory.stream_bandwidth of which one lies: its copy leaves out one page, and so gains
// time. Everything else of the probe is the real thing.

#include <algorithm>

#include "probes/memory/stream_kernels.hpp"

namespace plimsoll::probes {
namespace {

constexpr std::size_t kPage = 4096 / sizeof(double);

double read(const double* a, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += a[i];
  return sum;
}
void write(double* a, double value, std::size_t count) { std::fill_n(a, count, value); }
void copy(double* a, const double* b, std::size_t count) {
  if (count > kPage) std::copy_n(b, count - kPage, a);
}
void triad(double* a, const double* b, const double* c, double scale, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + scale * c[i];
}

constexpr StreamKernels kLying = {"lying", read, write, nullptr, copy, triad};

}  // namespace

const StreamKernels& stream_kernels() { return kLying; }

}  // namespace plimsoll::probes
