// Native, for ranks that share memory: no message is copied. When every rank has posted its buffer,
// rank r sums part r over all buffers, in rank order, and writes the sum back into all of them; the
// sum is finished when every rank has done its part.
//
// The order of additions is that of the ranks for every element, so the bits depend on the values
// and on n alone: equal on all ranks and from run to run.

#include <algorithm>
#include <array>

#include "trainer/comm/algorithm/all_reduce.hpp"

namespace plimsoll::trainer {
namespace {

constexpr std::size_t kBlock = 2048;  // floats: the running sum stays in the L1 cache

void sum_pair(float* __restrict a, float* __restrict b, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const float sum = a[i] + b[i];
    a[i] = sum;
    b[i] = sum;
  }
}

void sum_block(const Transport& transport, const AllReduceState& state, std::size_t offset,
               std::size_t count) {
  std::array<float, kBlock> sum;
  const auto of = [&](int rank) {
    return std::span<float>(transport.shared(state.sequence, rank) + offset, count);
  };
  copy(std::span(sum).first(count), of(0));
  for (int r = 1; r < transport.size(); ++r) add(std::span(sum).first(count), of(r));
  for (int r = 0; r < transport.size(); ++r) copy(of(r), std::span(sum).first(count));
}

}  // namespace

bool native_all_reduce(Transport& transport, AllReduceState& state) {
  const int n = transport.size();
  if (state.step == 0) {
    const std::span<float> mine = part_of(state.data, transport.rank(), n);
    const auto begin = static_cast<std::size_t>(mine.data() - state.data.data());
    if (n == 2) {
      sum_pair(transport.shared(state.sequence, 0) + begin,
               transport.shared(state.sequence, 1) + begin, mine.size());
    } else if (n > 2) {
      for (std::size_t at = 0; at < mine.size(); at += kBlock) {
        sum_block(transport, state, begin + at, std::min(kBlock, mine.size() - at));
      }
    }
    // The others read all of this buffer but its own part, and each is given this rank's sum.
    state.bytes_sent += static_cast<std::int64_t>(state.data.size_bytes() - mine.size_bytes()) +
                        (n - 1) * static_cast<std::int64_t>(mine.size_bytes());
    transport.arrive(state.sequence);
    state.step = 1;
  }
  return transport.all_arrived(state.sequence);
}

}  // namespace plimsoll::trainer
