// Ranks that are threads of this process: the communicator that needs nothing installed.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/system/cpulist.hpp"
#include "core/units.hpp"
#include "trainer/comm/communicator.hpp"

namespace plimsoll::trainer {

struct ThreadsOptions {
  int ranks = 1;
  std::string algorithm = "native";  // of all_reduce, see comm/algorithm
  std::vector<sys::CpuSet> cpus;     // of each rank, which is pinned to them; empty: not pinned
  Seconds deadline = Seconds(60);    // of one wait
};

// Runs `work` once on each rank, all at the same time, and returns when every one has ended. When
// one throws, the others throw the same Error at their next wait or poll, and it is thrown here.
void run_ranks(const ThreadsOptions& options, const std::function<void(Communicator&)>& work);

}  // namespace plimsoll::trainer
