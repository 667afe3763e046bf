// Assembles a batch: chosen rows of bytes become scaled floats.

#include "trainer/backend/backend.hpp"
#include "trainer/backend/cpu/simd.hpp"

namespace plimsoll::trainer {
namespace {

PLIMSOLL_WIDEST void widen(float* __restrict out, const std::uint8_t* __restrict in,
                           std::int64_t count, float scale, float shift) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(in[i]) * scale + shift;
}

}  // namespace

void gather_u8(float* out, const std::uint8_t* rows, std::int64_t row_elements,
               const std::int64_t* index, std::int64_t count, float scale, float shift) {
  for (std::int64_t row = 0; row < count; ++row) {
    widen(out + row * row_elements, rows + index[row] * row_elements, row_elements, scale, shift);
  }
}

}  // namespace plimsoll::trainer
