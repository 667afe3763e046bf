// Samples of bytes in memory: what the loader picks from. Two forms: rows with labels, one row a
// sample (images), and one text that windows are cut from.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/workload.hpp"

namespace plimsoll::trainer {

// Sample i of a text begins `positions` x i bytes after the epoch's offset, which is below
// `positions`: no byte is read twice in an epoch, and windows differ between epochs. The label of a
// position is the byte that follows it.
struct Windows {
  std::int64_t positions = 0;
  bool moving = false;  // else every epoch's offset is 0
  [[nodiscard]] std::int64_t offset(std::uint64_t seed, std::int64_t epoch) const;
};

struct Dataset {
  std::string source;          // where it came from, for reports
  std::int64_t row_bytes = 0;  // of one row
  std::vector<std::uint8_t> rows;
  std::vector<std::int32_t> labels;  // `labels_per_sample` a row; of a text: none
  std::int64_t labels_per_sample = 1;
  // A byte of an image enters the network as byte * scale + shift, one of a text as it is.
  float scale = 1.0F / 255.0F, shift = 0.0F;
  // Of images: sides of a row, and of what the network takes. A smaller image is centred on black,
  // a single channel is repeated.
  Shape stored = {}, sample = {};
  std::optional<Windows> windows = {};  // of a text: `rows` is all of it
  [[nodiscard]] std::int64_t count() const;
};

struct Data {
  Dataset train, test;
};

// The data of a workload. `place` is
//   empty            what the workload asks for: "fashion-mnist" ($PLIMSOLL_DATA if set, else where
//                    Debian's dataset-fashion-mnist puts it), "text" (the licence texts of Debian's
//                    base-files), or "synthetic";
//   "synthetic[:N]"  N samples of the workload's shape, made from `seed`: no file is read;
//   a directory      with train-images-idx3-ubyte[.gz] and its three companions: for images;
//   a file           any, plain or gzip, for workloads that take tokens: its last tenth is the
//   test.
// Images are scaled so that the bytes of the training set have mean 0 and deviation 1. Error naming
// the file and what to install when it is missing or does not fit the workload.
[[nodiscard]] Data load_data(const Workload& workload, const std::string& place,
                             std::uint64_t seed);

// How many labels a sample of this graph has: one, or one a position.
[[nodiscard]] std::int64_t labels_per_sample(const Graph& graph);

}  // namespace plimsoll::trainer
