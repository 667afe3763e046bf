// The walk of memory.load_latency: a working set as one closed ring of cache lines.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace plimsoll::probes {

struct Node {
  Node* next = nullptr;
  std::uint64_t mark = 0;  // used by the check only
};

// The nodes of a working set: one every `spacing` bytes.
class Ring {
 public:
  // `memory` must outlive the ring; a rest smaller than `spacing` stays unused.
  Ring(std::span<std::byte> memory, std::size_t spacing);

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] Node* at(std::size_t index) const;

 private:
  std::byte* memory_;
  std::size_t spacing_;
  std::size_t count_;
};

// Links the nodes into one random cycle (Sattolo's shuffle: one cycle by construction, never
// several short ones). The same seed gives the same walk.
void link(const Ring& ring, std::uint64_t seed);

// Walks the ring and says what is wrong, unless one lap from any node visits every node.
[[nodiscard]] std::optional<std::string> flaw_of(const Ring& ring);

}  // namespace plimsoll::probes
