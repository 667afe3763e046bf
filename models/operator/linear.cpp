// A linear layer: the measured matmul table, by rows, output features and input features.
//
//     ln t = surface(log2 m, log2 n, log2 k) per direction;  t = (2 m n k [+ m n]) / rate
//
// m = samples of a rank, times positions of each; n = out features, k = in features; m n additions
// of the bias or of its gradient belong to forward and to the weight gradient.
//
// Source    Probe kernel.matmul; FLOP as cost_of() counts.
// Assumes   Costs: the call, the product, the traffic of each operand. Vectors run along a row of
// the
//           result: outputs forward, inputs backward.
// Fails     Where the library changes kernel between measured shapes.
// Limits    Outside the table: see models/numeric/surface.cpp; flagged as extrapolated.
// Tests     tests/models/operator/operators_test.cpp.

#include <cmath>

#include "models/operator/kinds.hpp"

namespace plimsoll::models {
namespace {

std::vector<double> features(double m, std::int64_t n, std::int64_t k) {
  return {std::log2(m), std::log2(static_cast<double>(n)), std::log2(static_cast<double>(k))};
}

Flop work(const MatmulSample& s) {
  const double outputs = static_cast<double>(s.m) * static_cast<double>(s.n);
  const double bias = s.direction == Direction::backward_data ? 0.0 : outputs;
  return Flop(2.0 * outputs * static_cast<double>(s.k) + bias);
}

}  // namespace

KindTable linear_table(const Machine& machine, DType dtype, Direction direction) {
  const int lanes = direction == Direction::forward ? 1 : 2;  // along the rows of the result
  KindTable table{.metric = "kernel.matmul.rate",
                  .probe = "kernel.matmul",
                  .points = {},
                  .prior = {.terms = {{0, 0, 0}, {1, 1, 1}, {1, 1, 0}, {1, 0, 1}, {0, 1, 1}},
                            .lanes_feature = lanes}};
  for (const MatmulSample& s : machine.matmul) {
    if (s.dtype != dtype || s.direction != direction) continue;
    table.points.push_back(
        {s.load, point_of(features(static_cast<double>(s.m), s.n, s.k), work(s), s.rate)});
  }
  return table;
}

std::vector<double> linear_features(const Linear& linear, double rows) {
  return features(rows, linear.out_features, linear.in_features);
}

}  // namespace plimsoll::models
