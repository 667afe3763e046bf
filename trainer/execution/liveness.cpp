// Greedy by size, as TensorFlow Lite's planner does it (Pisarchyk and Lee, "Efficient Memory
// Management for Deep Neural Net Inference", 2020): within a few per cent of the lower bound.

#include "trainer/execution/liveness.hpp"

#include <algorithm>
#include <numeric>

namespace plimsoll::trainer {
namespace {

constexpr std::int64_t kLine = 64;

std::int64_t whole_lines(std::int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

Placement place(std::span<const Lifetime> buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return buffers[a].bytes > buffers[b].bytes; });
  Placement result{.offsets = std::vector<std::int64_t>(buffers.size(), 0), .bytes = 0};
  std::vector<std::size_t> placed;  // in the order of offsets
  for (const std::size_t i : order) {
    const std::int64_t size = whole_lines(buffers[i].bytes);
    std::int64_t offset = 0;
    for (const std::size_t other : placed) {
      if (!meet(buffers[i], buffers[other])) continue;
      const std::int64_t begin = result.offsets[other];
      if (offset + size <= begin) break;
      offset = std::max(offset, begin + whole_lines(buffers[other].bytes));
    }
    result.offsets[i] = offset;
    result.bytes = std::max(result.bytes, offset + size);
    const auto after = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](std::int64_t at, std::size_t other) { return at < result.offsets[other]; });
    placed.insert(after, i);
  }
  return result;
}

std::int64_t most_alive(std::span<const Lifetime> buffers) {
  std::int64_t most = 0;
  for (const Lifetime& at : buffers) {  // a maximum begins where some buffer does
    std::int64_t alive = 0;
    for (const Lifetime& other : buffers) {
      if (other.first <= at.first && at.first <= other.last) alive += whole_lines(other.bytes);
    }
    most = std::max(most, alive);
  }
  return most;
}

Collision collision(std::span<const Lifetime> buffers, std::span<const std::int64_t> offsets) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!meet(buffers[i], buffers[j])) continue;
      if (offsets[i] < offsets[j] + buffers[j].bytes &&
          offsets[j] < offsets[i] + buffers[i].bytes) {
        return {static_cast<int>(j), static_cast<int>(i)};
      }
    }
  }
  return {};
}

}  // namespace plimsoll::trainer
