// What writer and reader of a checkpoint share.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "reports/sha256.hpp"

namespace plimsoll::trainer {

inline constexpr std::array<char, 8> kCheckpointMagic = {'P', 'L', 'I', 'M', 'C', 'K', 'P', 'T'};
inline constexpr std::uint32_t kCheckpointVersion = 1;
inline constexpr std::uint32_t kByteOrder = 0x01020304;
inline constexpr std::size_t kCheckpointAlignment = 64;

struct CheckpointPreamble {
  std::array<char, 8> magic = kCheckpointMagic;
  std::uint32_t version = kCheckpointVersion;
  std::uint32_t byte_order = kByteOrder;
  std::uint64_t header_bytes = 0;
};
static_assert(sizeof(CheckpointPreamble) == 24);

using Digest = reports::Sha256::Digest;

}  // namespace plimsoll::trainer
