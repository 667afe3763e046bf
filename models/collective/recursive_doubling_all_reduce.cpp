// Recursive doubling all-reduce: partners at distance 1, 2, 4, ... swap and add whole buffers.
//
//     T = r (alpha + S / B + S / R),  r = log2 n;   n not a power of two: r = floor(log2 n) + 2
//
// The ranks beyond the largest power of two first hand their buffer to a partner and get the result
// back at the end: one step with and one without an addition.
//
// Source    Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
//           MPICH", 2005, section 4.5.
// Assumes   Equal full-duplex links, any pair at the same cost, no other traffic.
// Fails     For large S: every step carries the whole buffer.
// Limits    n = 1 costs nothing; n = 2 is one exchange.
// Tests     tests/models/collective/collective_test.cpp.

#include "core/error.hpp"
#include "models/collective/collective.hpp"

namespace plimsoll::models {

CollectiveTime recursive_doubling_all_reduce(const CollectiveRequest& request, const Link& link) {
  expects(request.ranks >= 1, "recursive_doubling_all_reduce: needs at least one rank");
  expects(request.payload >= Bytes(0), "recursive_doubling_all_reduce: payload not negative");
  expects(link.bandwidth > BytesPerSecond(0), "recursive_doubling_all_reduce: link moves bytes");
  if (request.ranks == 1) return {};

  int rounds = 0;
  while ((std::int64_t{1} << (rounds + 1)) <= request.ranks) ++rounds;
  const bool uneven = (std::int64_t{1} << rounds) != request.ranks;
  const double sends = rounds + (uneven ? 2 : 0);
  const double additions = rounds + (uneven ? 1 : 0);
  CollectiveTime time{.latency = sends * link.latency,
                      .transfer = sends * (request.payload / link.bandwidth),
                      .reduction = Seconds(0)};
  if (link.reduction > BytesPerSecond(0)) {
    time.reduction = additions * (request.payload / link.reduction);
  }
  return time;
}

}  // namespace plimsoll::models
