// The input pipeline: how much of assembling batches a training step has to wait for.

#pragma once

#include <string>

#include "core/units.hpp"

namespace plimsoll::models {

struct LoaderRequest {
  Seconds assemble;  // CPU time of one rank's batch on one thread
  Seconds step;      // the step without input
  int loader_workers = 1, prefetch = 2, ranks = 1;
  int free_cores = 0;  // that no rank computes on
};

struct LoaderTime {
  Seconds exposed;
  Seconds hidden;
  Seconds period;       // between batches, were the loader the only limit
  bool steals = false;  // the loader ran on the cores that compute
};

[[nodiscard]] LoaderTime loader_time(const LoaderRequest& request);

}  // namespace plimsoll::models
