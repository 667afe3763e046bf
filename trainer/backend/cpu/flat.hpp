// Work on flat buffers, shared by a team: each thread takes whole cache lines.

#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace plimsoll::trainer {

// Calls work(first, last) on every thread of the team, once if there is too little to do, and
// returns whether all said true.
template <class Work>
bool on_lines(std::int64_t elements, int threads, const Work& work) {
  constexpr std::int64_t kLine = 16;             // floats in a cache line
  constexpr std::int64_t kWorthATeam = 1 << 14;  // below, waking the team costs more than it saves
  if (threads <= 1 || elements < kWorthATeam) return work(std::int64_t{0}, elements);
  const std::int64_t lines = (elements + kLine - 1) / kLine;
  bool all = true;
#pragma omp parallel num_threads(threads) reduction(&& : all)
  {
    const std::int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    const std::int64_t first = std::min(elements, lines * me / team * kLine);
    const std::int64_t last = std::min(elements, lines * (me + 1) / team * kLine);
    all = work(first, last);
  }
  return all;
}

}  // namespace plimsoll::trainer
