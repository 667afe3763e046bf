// The memory that the kernels of memory.stream_bandwidth work on, and who owns which part of it.
//
// Each thread owns one slice, touched by itself first. A slice is a row of blocks; a kernel with k
// arrays cuts each block into k chunks, so that all kernels walk the memory in the same order and a
// sample goes on where the last one, of whichever kernel, ended: nothing is met again before the
// whole working set has passed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/system/buffer.hpp"
#include "probes/harness/team.hpp"

namespace plimsoll::probes {

class StreamArena {
 public:
  // Error with needed and available bytes where `bytes` do not fit into memory.
  StreamArena(std::int64_t bytes, std::shared_ptr<Team> team);

  [[nodiscard]] Team& team() { return *team_; }
  [[nodiscard]] std::int64_t blocks() const { return blocks_; }  // of each slice
  // Doubles in one of the `arrays` chunks of a block.
  [[nodiscard]] std::size_t chunk(int arrays) const;
  // Where array number `array` of that block begins.
  [[nodiscard]] double* at(int thread, std::int64_t block, int array, int arrays) const;

  // The block where the next sample begins; moves on by that many blocks.
  std::int64_t advance(std::int64_t blocks);

  [[nodiscard]] double huge_bytes() const { return buffer_.huge_bytes().value(); }

 private:
  std::shared_ptr<Team> team_;
  std::size_t block_bytes_ = 0;
  std::int64_t blocks_ = 0;
  std::int64_t next_ = 0;
  sys::Buffer buffer_;
};

}  // namespace plimsoll::probes
