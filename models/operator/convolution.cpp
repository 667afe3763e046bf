// A convolution: the measured table, by samples, output positions, channels and kernel area.
//
//     ln t = surface(log2 N, log2 PQ, log2 C, log2 K, log2 RS) per direction
//     t = (2 N K C R S P Q [+ N K P Q]) / rate;  P = Q = (side + 2 padding - kernel) / stride + 1
//
// Source    Probe kernel.convolution; FLOP as cost_of() counts (direct convolution).
// Assumes   Costs: the call, the product, the traffic of each operand, a visit of every tap for
// each
//           input and each output channel. Vectors run along the channels of the result. Stride
//           and padding act through the number of output positions only.
// Fails     Where a library takes Winograd or another algorithm for some shapes only.
// Limits    Outside the table: see models/numeric/surface.cpp; flagged as extrapolated.
// Tests     tests/models/operator/operators_test.cpp.

#include <cmath>

#include "models/operator/kinds.hpp"

namespace plimsoll::models {
namespace {

// A kernel larger than its padded image has no output; such a sample is not in a table.
double output_side(std::int64_t image, std::int64_t kernel, std::int64_t stride,
                   std::int64_t padding) {
  return static_cast<double>((image + 2 * padding - kernel) / stride + 1);
}

std::vector<double> features(double batch, double side, double in_channels, double out_channels,
                             double kernel) {
  return {std::log2(batch), 2 * std::log2(side), std::log2(in_channels), std::log2(out_channels),
          2 * std::log2(kernel)};
}

}  // namespace

KindTable convolution_table(const Machine& machine, DType dtype, Direction direction) {
  const int lanes = direction == Direction::backward_data ? 2 : 3;  // channels of the result
  KindTable table{.metric = "kernel.convolution.rate",
                  .probe = "kernel.convolution",
                  .points = {},
                  .prior = {.terms = {{0, 0, 0, 0, 0},
                                      {1, 1, 1, 1, 1},
                                      {1, 1, 0, 1, 0},
                                      {1, 1, 1, 0, 0},
                                      {0, 0, 1, 1, 1},
                                      {1, 1, 1, 0, 1},
                                      {1, 1, 0, 1, 1}},
                            .lanes_feature = lanes}};
  for (const ConvolutionSample& s : machine.convolution) {
    if (s.dtype != dtype || s.direction != direction) continue;
    const double side = output_side(s.image, s.kernel, s.stride, s.padding);
    if (!(side >= 1)) continue;
    const auto batch = static_cast<double>(s.batch), in = static_cast<double>(s.in_channels),
               out = static_cast<double>(s.out_channels), kernel = static_cast<double>(s.kernel);
    const double outputs = batch * out * side * side;
    const double bias = direction == Direction::backward_data ? 0.0 : outputs;
    const Flop work(2.0 * outputs * in * kernel * kernel + bias);
    table.points.push_back(
        {s.load, point_of(features(batch, side, in, out, kernel), work, s.rate)});
  }
  return table;
}

std::vector<double> convolution_features(const Convolution& c, std::int64_t image,
                                         std::int64_t batch) {
  return features(static_cast<double>(batch), output_side(image, c.kernel, c.stride, c.padding),
                  static_cast<double>(c.in_channels), static_cast<double>(c.out_channels),
                  static_cast<double>(c.kernel));
}

}  // namespace plimsoll::models
