// Pooling: the measured table, by input positions, channels and how often a window visits an input.
//
//     ln t = surface(log2 (N H W), log2 C, log2 (kernel^2 / stride^2));  t = bytes / bandwidth
//
// Source    Probe kernel.pooling.
// Assumes   Channels lie together in memory (NHWC): few of them waste vector lanes, the table says
//           how many.
// Fails     -
// Limits    Outside the table: see models/numeric/surface.cpp; flagged as extrapolated.
// Tests     tests/models/operator/operators_test.cpp.

#include <cmath>

#include "models/operator/kinds.hpp"

namespace plimsoll::models {

std::vector<double> pool_features(const Pool& pool, std::int64_t image, std::int64_t channels,
                                  std::int64_t batch) {
  return {std::log2(static_cast<double>(batch)) + 2 * std::log2(static_cast<double>(image)),
          std::log2(static_cast<double>(channels)),
          2 * std::log2(static_cast<double>(pool.kernel) / static_cast<double>(pool.stride))};
}

KindTable pool_table(const Machine& machine, Pool::Mode mode, Direction direction) {
  KindTable table{
      .metric = "kernel.pooling.bandwidth",
      .probe = "kernel.pooling",
      .points = {},
      .prior = {.terms = {{0, 0, 0}, {1, 1, 0}, {1, 1, 1}, {1, 0, 0}}, .lanes_feature = 1}};
  for (const PoolSample& s : machine.pooling) {
    if (s.mode != mode || s.direction != direction) continue;
    const Pool pool{.mode = s.mode, .kernel = s.kernel, .stride = s.stride};
    table.points.push_back({s.load, point_of(pool_features(pool, s.image, s.channels, s.batch),
                                             s.bytes, s.bandwidth)});
  }
  return table;
}

}  // namespace plimsoll::models
