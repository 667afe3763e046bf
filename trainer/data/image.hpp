// Placing an image in the network's input: padding, channels, augmentation, scaling.

#pragma once

#include <cstdint>

#include "core/workload.hpp"

namespace plimsoll::trainer {

// What augmentation does to a sample: it is moved, black comes in at the border, and mirrored.
struct Change {
  int down = 0, right = 0;
  bool mirrored = false;
};

// By at most 4 pixels each way (a crop out of the image padded by 4), mirrored every second time: a
// hash of seed, step and the sample's number in the global batch, so that resuming and the number
// of ranks change nothing.
inline constexpr int kLargestMove = 4;
[[nodiscard]] Change change_of(std::uint64_t seed, std::int64_t step, std::int64_t sample);

// Whether an image of shape `stored` can become one of `sample`: of the same size, or smaller by
// the same even number of pixels in height and width, up to half its side, which are added around
// it; with as many channels, or one, which is repeated.
[[nodiscard]] bool fits(const Shape& stored, const Shape& sample);

// out[y, x, c] = byte * scale + shift of the image, black (0 * scale + shift) around it.
void place_image(float* out, const Shape& sample, const std::uint8_t* image, const Shape& stored,
                 const Change& change, float scale, float shift);

}  // namespace plimsoll::trainer
