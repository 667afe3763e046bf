// Links a ring. A file of its own, so that a test can put a faulty one in its place.

#include <random>
#include <utility>

#include "probes/memory/ring.hpp"

namespace plimsoll::probes {
namespace {

// Uniform below `limit` without a division; the bias of 2^-64 limit is nothing here.
std::size_t below(std::mt19937_64& random, std::size_t limit) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>((Wide{random()} * limit) >> 64);
}

}  // namespace

void link(const Ring& ring, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < ring.count(); ++i) ring.at(i)->next = ring.at(i);
  for (std::size_t i = ring.count() - 1; i > 0; --i) {
    std::swap(ring.at(i)->next, ring.at(below(random, i))->next);
  }
}

}  // namespace plimsoll::probes
