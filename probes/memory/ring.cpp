// The check of a ring; how it is linked stands in ring_link.cpp.

#include "probes/memory/ring.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <string>

#include "core/error.hpp"

namespace plimsoll::probes {

Ring::Ring(std::span<std::byte> memory, std::size_t spacing)
    : memory_(memory.data()), spacing_(spacing), count_(memory.size() / spacing) {
  expects(spacing >= sizeof(Node), "ring: a node does not fit into the spacing");
  expects(count_ > 0, "ring: the working set holds no node");
  for (std::size_t i = 0; i < count_; ++i) new (memory_ + i * spacing_) Node;
}

Node* Ring::at(std::size_t index) const {
  return reinterpret_cast<Node*>(memory_ + index * spacing_);
}

// Several walkers start at marked nodes and stop at the next mark: their loads overlap, which makes
// the check several times faster than one long walk. The ring is whole if together they took
// exactly one step a node, and going from mark to mark passes all marks before it comes home.
std::optional<std::string> flaw_of(const Ring& ring) {
  constexpr std::size_t kMostWalkers = 16;
  const std::size_t walkers = std::min(kMostWalkers, ring.count());
  std::array<Node*, kMostWalkers> at{};
  for (std::size_t i = 0; i < walkers; ++i) {
    ring.at(i * (ring.count() / walkers))->mark = i + 1;
  }
  for (std::size_t i = 0; i < walkers; ++i) at[i] = ring.at(i * (ring.count() / walkers));

  std::array<std::size_t, kMostWalkers> met{};  // mark at which a walker stopped; 0: still walks
  std::size_t steps = 0, walking = walkers;
  while (walking > 0 && steps <= ring.count()) {
    for (std::size_t i = 0; i < walkers; ++i) {
      if (met[i] != 0) continue;
      if (at[i] == nullptr) return "the walk leaves the working set";
      at[i] = at[i]->next;
      ++steps;
      if (at[i] == nullptr) return "the walk leaves the working set";
      met[i] = at[i]->mark;
      if (met[i] != 0) --walking;
    }
  }
  std::size_t laps = 1, mark = met[0];
  for (; mark > 1 && laps <= walkers; ++laps) mark = met[mark - 1];
  for (std::size_t i = 0; i < walkers; ++i) ring.at(i * (ring.count() / walkers))->mark = 0;
  if (walking == 0 && steps == ring.count() && laps == walkers && mark == 1) return std::nullopt;
  return "the walk is not one cycle over all " + std::to_string(ring.count()) +
         " nodes: it misses part of the working set";
}

}  // namespace plimsoll::probes
