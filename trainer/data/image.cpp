// Images, pixel by pixel.

#include "trainer/data/image.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "trainer/data/random.hpp"

namespace plimsoll::trainer {
namespace {

constexpr std::uint64_t kAugmentStream = 0x6175676D656E74ULL;

}  // namespace

Change change_of(std::uint64_t seed, std::int64_t step, std::int64_t sample) {
  const std::uint64_t bits = random_bits(seed, kAugmentStream + static_cast<std::uint64_t>(step),
                                         static_cast<std::uint64_t>(sample));
  constexpr std::uint64_t kWays = 2 * kLargestMove + 1;
  return {.down = static_cast<int>((bits & 0xFFFFFF) % kWays) - kLargestMove,
          .right = static_cast<int>((bits >> 24 & 0xFFFFFF) % kWays) - kLargestMove,
          .mirrored = bits >> 63 != 0};
}

bool fits(const Shape& stored, const Shape& sample) {
  if (stored.size() != 3 || sample.size() != 3) return false;
  const std::int64_t more = sample[0] - stored[0];
  return more >= 0 && more % 2 == 0 && more == sample[1] - stored[1] &&
         2 * more <= std::min(stored[0], stored[1]) && (stored[2] == sample[2] || stored[2] == 1);
}

void place_image(float* out, const Shape& sample, const std::uint8_t* image, const Shape& stored,
                 const Change& change, float scale, float shift) {
  expects(fits(stored, sample), "an image fits where it is placed");
  const std::int64_t width = sample[1], channels = sample[2], from = stored[1];
  const std::int64_t pad = (width - from) / 2;
  // Column x of the output shows column x - left of the image.
  const std::int64_t left = pad + change.right;
  const std::int64_t begin = std::clamp<std::int64_t>(left, 0, width);
  const std::int64_t end = std::clamp<std::int64_t>(left + from, 0, width);
  for (std::int64_t y = 0; y < sample[0]; ++y) {
    float* const row = out + y * width * channels;
    const std::int64_t source = y - pad - change.down;
    if (source < 0 || source >= stored[0]) {
      std::fill_n(row, width * channels, shift);
      continue;
    }
    std::fill_n(row, begin * channels, shift);
    std::fill_n(row + end * channels, (width - end) * channels, shift);
    const std::uint8_t* const bytes = image + source * from * stored[2];
    for (std::int64_t x = begin; x < end; ++x) {
      const std::int64_t column = change.mirrored ? from - 1 - (x - left) : x - left;
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::uint8_t byte = bytes[column * stored[2] + (stored[2] == 1 ? 0 : c)];
        row[x * channels + c] = static_cast<float>(byte) * scale + shift;
      }
    }
  }
}

}  // namespace plimsoll::trainer
