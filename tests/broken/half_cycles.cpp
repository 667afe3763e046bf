// A faulty way to link the ring of memory.load_latency: two cycles of half the size each. A check
// that only walks as many steps as there are nodes and then looks where it is would accept it.

#include "probes/memory/ring.hpp"

namespace plimsoll::probes {

void link(const Ring& ring, std::uint64_t) {
  const std::size_t half = ring.count() / 2;
  for (std::size_t i = 0; i < half; ++i) ring.at(i)->next = ring.at((i + 1) % half);
  for (std::size_t i = half; i < ring.count(); ++i) {
    ring.at(i)->next = ring.at(i + 1 < ring.count() ? i + 1 : half);
  }
}

}  // namespace plimsoll::probes
