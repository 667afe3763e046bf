// IDX files, the format of MNIST and its relatives: a magic number, big-endian dimensions, bytes.

#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace plimsoll::trainer {

struct IdxArray {
  std::vector<std::int64_t> dimensions;
  std::vector<std::uint8_t> bytes;
};

// Reads `path`, or `path` + ".gz" when only that is there; unsigned bytes of any dimensions. Error
// naming the file when it is missing, not IDX, of another type, cut short or too long.
[[nodiscard]] IdxArray read_idx(const std::filesystem::path& path);

}  // namespace plimsoll::trainer
