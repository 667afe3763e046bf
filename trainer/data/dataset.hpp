// Labelled samples of bytes in memory: what the loader picks from.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/workload.hpp"

namespace plimsoll::trainer {

struct Dataset {
  std::string source;          // where it came from, for reports
  std::int64_t row_bytes = 0;  // of one sample
  std::vector<std::uint8_t> rows;
  std::vector<std::int32_t> labels;
  // A byte enters the network as byte * scale + shift.
  float scale = 1.0F / 255.0F, shift = 0.0F;
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
};

// Both are scaled so that the bytes of the training set have mean 0 and deviation 1.
struct Data {
  Dataset train, test;
};

// The data of a workload. `directory` is
//   empty              $PLIMSOLL_DATA if set, else where Debian's dataset-fashion-mnist puts it;
//   "synthetic[:N]"    N (60,000) samples of the workload's shape, made from `seed`: no file is
//   read; anything else      a directory with train-images-idx3-ubyte[.gz] and its three
//   companions.
// Error naming the file and what to install when it is missing or does not fit the workload.
[[nodiscard]] Data load_data(const Workload& workload, const std::string& directory,
                             std::uint64_t seed);

// Samples that can be learned: a blurred random picture for each class plus noise, labels in equal
// numbers. Sample i depends on the seed and i alone.
[[nodiscard]] Dataset synthetic(const Shape& sample, std::int64_t classes, std::int64_t count,
                                std::uint64_t seed, std::uint64_t first = 0);

}  // namespace plimsoll::trainer
