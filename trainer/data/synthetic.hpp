// Data made from a seed: images and texts that can be learned, of any shape and size.

#pragma once

#include <cstdint>

#include "trainer/data/dataset.hpp"

namespace plimsoll::trainer {

// A blurred random picture for each class plus noise, labels in equal numbers. Sample i depends on
// the seed and i alone.
[[nodiscard]] Dataset synthetic(const Shape& sample, std::int64_t classes, std::int64_t count,
                                std::uint64_t seed, std::uint64_t first = 0,
                                std::int64_t labels_per_sample = 1);

// A text of `count` bytes below `vocabulary`: three of four follow from the byte before by a rule
// of the seed's, the fourth is noise, so that a network can get far below the entropy of noise but
// not to 0. `first` chooses another text with the same rule.
[[nodiscard]] std::vector<std::uint8_t> synthetic_text(std::int64_t vocabulary, std::int64_t count,
                                                       std::uint64_t seed, std::uint64_t first = 0);

}  // namespace plimsoll::trainer
