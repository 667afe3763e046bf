// Cutting a working set into slices and blocks.

#include "probes/memory/stream_arena.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "probes/memory/stream_kernels.hpp"

namespace plimsoll::probes {
namespace {

// Long enough for prefetchers and to hide the call, short enough for a sample to hold several.
constexpr std::size_t kMostBlockBytes = 768 * 1024;
constexpr std::size_t kLine = 64;  // blocks begin on a cache line
constexpr std::size_t kStepBytes = kStreamStep * sizeof(double);

}  // namespace

StreamArena::StreamArena(std::int64_t bytes, std::shared_ptr<Team> team) : team_(std::move(team)) {
  const std::size_t slice =
      static_cast<std::size_t>(bytes) / static_cast<std::size_t>(team_->size());
  const std::size_t count =
      std::max<std::size_t>(1, (slice + kMostBlockBytes - 1) / kMostBlockBytes);
  block_bytes_ = slice / count / kLine * kLine;
  blocks_ = static_cast<std::int64_t>(count);
  if (chunk(3) == 0) {
    throw Error("a working set of " + std::to_string(bytes) + " bytes is too small for " +
                    std::to_string(team_->size()) + " threads and three arrays",
                "memory.stream_bandwidth", "ask for at least 1536 bytes a thread");
  }
  buffer_ = sys::Buffer(Bytes(static_cast<double>(bytes)), "the streams' working set",
                        sys::Page::huge, sys::Touch::later);
  team_->run([&](int thread) {
    double* const begin = at(thread, 0, 0, 1);
    std::fill_n(begin, block_bytes_ * count / sizeof(double), 1.0);
  });
}

std::size_t StreamArena::chunk(int arrays) const {
  return block_bytes_ / static_cast<std::size_t>(arrays) / kStepBytes * kStreamStep;
}

double* StreamArena::at(int thread, std::int64_t block, int array, int arrays) const {
  const std::size_t index = static_cast<std::size_t>(thread) * static_cast<std::size_t>(blocks_) +
                            static_cast<std::size_t>(block);
  return reinterpret_cast<double*>(buffer_.data() + index * block_bytes_) +
         static_cast<std::size_t>(array) * chunk(arrays);
}

std::int64_t StreamArena::advance(std::int64_t blocks) {
  const std::int64_t begin = next_;
  next_ = (next_ + blocks) % blocks_;
  return begin;
}

}  // namespace plimsoll::probes
