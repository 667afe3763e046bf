// Ring: each rank talks to its two neighbours only. The buffer is cut into n parts; in n-1 steps
// every rank passes a part on and adds what arrives (then it holds one whole sum), in n-1 more
// steps the sums go round. Each rank sends 2 (n-1)/n of the buffer, whatever n is.
//
// A part is summed along one path and then copied, so all ranks end with the same bits; which rank
// is added first differs from part to part, so the bits depend on n and on the part's place.

#include "trainer/comm/algorithm/all_reduce.hpp"

namespace plimsoll::trainer {

bool ring_all_reduce(Transport& transport, AllReduceState& state) {
  const int n = transport.size();
  const int rank = transport.rank();
  const int next = (rank + 1) % n;
  const int previous = (rank + n - 1) % n;
  const auto part = [&](int index) { return part_of(state.data, ((index % n) + n) % n, n); };

  for (; state.step < 2 * (n - 1); ++state.step, state.sent = false) {
    const bool reducing = state.step < n - 1;
    const int round = reducing ? state.step : state.step - (n - 1);
    const int outgoing = reducing ? rank - round : rank + 1 - round;
    if (!state.sent) {
      const std::span<float> data = part(outgoing);
      if (!transport.try_send(next, data)) return false;
      state.sent = true;
      state.bytes_sent += static_cast<std::int64_t>(data.size_bytes());
    }
    // A part that was sent is overwritten n-1 steps later at the earliest: by then the neighbour
    // has taken it, or the sends in between could not have been made.
    if (!transport.try_receive(previous, part(outgoing - 1),
                               reducing ? Combine::sum : Combine::replace)) {
      return false;
    }
  }
  return n == 1 || transport.delivered(next);
}

}  // namespace plimsoll::trainer
