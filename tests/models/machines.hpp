// Machines made by hand for tests: an exact one, whose step is known by arithmetic, and a noisy one
// with plausible efficiency laws, whose truth is known everywhere.

#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/machine.hpp"

namespace plimsoll::tests {

template <class Q>
Estimate<Q> exact(Q value) {
  return exactly(value, Kind::measured, "test");
}

template <class Q>
Estimate<Q> within(Q value, double half_width_ratio) {
  return {.value = value,
          .low = value / (1 + half_width_ratio),
          .high = value * (1 + half_width_ratio),
          .kind = Kind::measured,
          .source = "test"};
}

// Every matmul and convolution runs at `rate`, everything else at `bandwidth`, whatever its shape.
inline Machine flat_machine(FlopPerSecond rate, BytesPerSecond bandwidth, int busy_cores = 0) {
  Machine m;
  m.name = "flat";
  m.usable_cores = 4;
  m.memory_capacity = Bytes(16e9);
  const Load load{.threads = 1, .busy_cores = busy_cores};
  const std::vector<std::int64_t> sizes = {1, 64, 4096};
  for (const Direction direction :
       {Direction::forward, Direction::backward_data, Direction::backward_weights}) {
    for (const auto rows : sizes) {
      for (const auto cols : sizes) {
        for (const auto depth : sizes) {
          m.matmul.push_back({.m = rows,
                              .n = cols,
                              .k = depth,
                              .direction = direction,
                              .load = load,
                              .rate = exact(rate)});
        }
      }
    }
    for (const std::int64_t batch : {1, 4096}) {
      for (const std::int64_t in : {1, 64}) {
        for (const std::int64_t out : {1, 64}) {
          for (const std::int64_t kernel : {1, 3, 7}) {
            for (const std::int64_t image : {7, 64}) {
              m.convolution.push_back({.batch = batch,
                                       .in_channels = in,
                                       .out_channels = out,
                                       .kernel = kernel,
                                       .image = image,
                                       .direction = direction,
                                       .load = load,
                                       .rate = exact(rate)});
            }
          }
        }
      }
    }
  }
  for (const Pool::Mode mode : {Pool::Mode::max, Pool::Mode::average}) {
    for (const Direction direction : {Direction::forward, Direction::backward_data}) {
      for (const std::int64_t batch : {1, 4096}) {
        for (const std::int64_t channels : {1, 128}) {
          for (const std::int64_t image : {2, 64}) {
            const double in = static_cast<double>(batch * channels * image * image);
            m.pooling.push_back({.mode = mode,
                                 .direction = direction,
                                 .batch = batch,
                                 .channels = channels,
                                 .image = image,
                                 .kernel = 2,
                                 .stride = 2,
                                 .bytes = Bytes(4 * in * 1.25),
                                 .load = load,
                                 .bandwidth = exact(bandwidth)});
          }
        }
      }
    }
  }
  for (const char* operation :
       {"relu_forward", "relu_backward", "softmax_cross_entropy_forward",
        "softmax_cross_entropy_backward", "sgd_momentum", "gather_u8", "softmax_rows_forward",
        "softmax_rows_backward", "batch_norm_forward", "batch_norm_backward", "layer_norm_forward",
        "layer_norm_backward", "gelu_forward", "gelu_backward", "embedding_forward",
        "embedding_backward", "dropout", "add"}) {
    for (const double bytes : {64.0, 1e6, 1e9}) {
      m.elementwise.push_back({.operation = operation,
                               .bytes = Bytes(bytes),
                               .load = load,
                               .bandwidth = exact(bandwidth)});
    }
  }
  return m;
}

// Seconds that a plausible core takes for a linear layer: a call, then flop over a rate that falls
// for few rows, columns and short sums, and never below the traffic.
inline double plausible_matmul_time(double m, double n, double k) {
  const double efficiency = m / (m + 6) * n / (n + 12) * k / (k + 40);
  const double bytes = 4 * (m * k + n * k + m * n);
  return 1.5e-6 + std::max(2 * m * n * k / (130e9 * efficiency), bytes / 14e9);
}

inline std::vector<MatmulSample> plausible_matmul(const std::vector<std::int64_t>& ms,
                                                  const std::vector<std::int64_t>& ns,
                                                  const std::vector<std::int64_t>& ks,
                                                  double noise_ratio, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<MatmulSample> samples;
  for (const auto m : ms) {
    for (const auto n : ns) {
      for (const auto k : ks) {
        const double flop = 2.0 * static_cast<double>(m * n * k) + static_cast<double>(m * n);
        const double t = plausible_matmul_time(static_cast<double>(m), static_cast<double>(n),
                                               static_cast<double>(k)) *
                         std::exp(noise_ratio * normal(random));
        samples.push_back(
            {.m = m, .n = n, .k = k, .rate = within(FlopPerSecond(flop / t), 1.96 * noise_ratio)});
      }
    }
  }
  return samples;
}

}  // namespace plimsoll::tests
