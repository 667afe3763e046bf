// Element-wise work: norms, activations, sums, losses, the optimizer's update, the loader's gather.
//
//     ln t = surface(log2 bytes) per operation;  t = bytes / bandwidth
//
// Source    Probe kernel.elementwise; bytes as cost_of() counts (every operand once).
// Assumes   Time depends on the bytes moved, not on how they are shaped.
// Fails     A loss with another number of classes a row than the probe's tables of few and of many.
// Limits    Outside the table: see models/numeric/surface.cpp; flagged as extrapolated.
// Tests     tests/models/operator/operators_test.cpp.

#include <cmath>

#include "models/operator/kinds.hpp"

namespace plimsoll::models {

std::vector<double> elementwise_features(Bytes bytes) { return {std::log2(bytes.value())}; }

KindTable elementwise_table(const Machine& machine, const std::string& operation) {
  KindTable table{.metric = "kernel.elementwise.bandwidth",
                  .probe = "kernel.elementwise",
                  .points = {},
                  .prior = {.terms = {{0}, {1}}}};
  for (const ElementwiseSample& s : machine.elementwise) {
    if (s.operation != operation) continue;
    table.points.push_back({s.load, point_of(elementwise_features(s.bytes), s.bytes, s.bandwidth)});
  }
  return table;
}

}  // namespace plimsoll::models
