// Reads the levels of the memory hierarchy off a latency curve, and holds them against what the
// machine says about its caches.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/units.hpp"

namespace plimsoll::probes {

struct LatencyPoint {
  Bytes working_set;
  Seconds latency;
};

// A stretch of the curve that is flat: from its first to its last working set.
struct Plateau {
  Bytes first, last;
  Seconds latency;  // median of its points
};

// Points ascending by working set. A plateau ends where the next point is more than `rise` times
// its latency; single points on a slope are no plateau unless they are the first or the last.
[[nodiscard]] std::vector<Plateau> find_plateaus(const std::vector<LatencyPoint>& points,
                                                 double rise = 1.3);

struct LevelCheck {
  int level = 0;
  Bytes told;                  // what the machine says the cache holds
  std::optional<Bytes> found;  // end of the plateau nearest to it, if within a factor of three
};
[[nodiscard]] std::vector<LevelCheck> check_levels(const std::vector<Plateau>& plateaus,
                                                   const std::vector<CacheFact>& caches);

// memory.cache_levels (what was found) and memory.cache_size (a cache that the curve does not
// show). `points` of one page kind.
[[nodiscard]] std::vector<Finding> cache_findings(const std::vector<LatencyPoint>& points,
                                                  const std::vector<CacheFact>& caches);

}  // namespace plimsoll::probes
