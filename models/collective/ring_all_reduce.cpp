// Ring all-reduce: how long until each of n ranks holds the sum of all n buffers.
//
//     T = 2 (n - 1) alpha + 2 (n - 1)/n S / B + (n - 1)/n S / R
//
// A buffer of S bytes is cut into n chunks. n - 1 steps reduce-scatter them and n - 1 more
// all-gather them; in every step each rank sends one chunk to its neighbour, all n links at once. R
// is the rate of adding, which only the first n - 1 steps do; 0 means hidden behind the transfer.
//
// Source    Bandwidth term: NCCL tests, doc/PERFORMANCE.md, "AllReduce": t = (S/B) (2(n-1)/n).
//           Reduction term: Chan et al., "Collective communication", 2007, section 4.
// Assumes   Equal full-duplex links, no other traffic.
// Fails     For small S the alphas dominate and recursive doubling wins.
// Limits    n = 1 costs nothing. As n grows, transfer tends to 2 S / B and latency has no bound.
// Tests     tests/models/collective/collective_test.cpp.

#include "core/error.hpp"
#include "models/collective/collective.hpp"

namespace plimsoll::models {

CollectiveTime ring_all_reduce(const CollectiveRequest& request, const Link& link) {
  expects(request.ranks >= 1, "ring_all_reduce: needs at least one rank");
  expects(request.payload >= Bytes(0), "ring_all_reduce: payload cannot be negative");
  expects(link.bandwidth > BytesPerSecond(0), "ring_all_reduce: link must move bytes");
  if (request.ranks == 1) return {};

  const double steps = request.ranks - 1;
  const Bytes chunk = request.payload / request.ranks;
  CollectiveTime time{.latency = 2 * steps * link.latency,
                      .transfer = 2 * steps * (chunk / link.bandwidth),
                      .reduction = Seconds(0)};
  if (link.reduction > BytesPerSecond(0)) time.reduction = steps * (chunk / link.reduction);
  return time;
}

}  // namespace plimsoll::models
