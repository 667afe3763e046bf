// Roofline: what the work would take at the ceilings.
//
//     t_roof = max(flop / F, bytes / B(working set)),   t = t_dispatch + e * t_roof,  e >= 1
//
// F and B are the ceilings of one rank: its share of what all busy cores reach together, or what a
// measured kernel under the same load reached, if more.
//
// Source    Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009.
// Assumes   `bytes` is the least traffic; the bandwidth of a working set is that of the nearest
//           measured one (in octaves), by reading.
// Fails     Winograd and FFT convolutions may pass the ceiling of direct counting.
// Limits    No ceilings measured: nothing is bounded and matmul-like work counts as compute-bound.
// Tests     tests/models/operator/roofline_test.cpp.

#include "models/operator/roofline.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace plimsoll::models {
namespace {

// A call that takes less than this many dispatches is bound by them.
constexpr double kDispatchBound = 2.0;

// Best rate of all of `cores` together, or of the nearest measured number scaled to it.
std::optional<FlopPerSecond> best_compute(const Machine& machine, DType dtype, int cores) {
  std::optional<FlopPerSecond> best;
  int best_distance = 0;
  for (const ComputeCeiling& c : machine.compute) {
    if (c.dtype != to_string(dtype)) continue;
    const int distance = std::abs(c.cores - cores);
    const FlopPerSecond rate = c.rate.value * (static_cast<double>(cores) / c.cores);
    if (!best || distance < best_distance || (distance == best_distance && rate > *best)) {
      best = rate;
      best_distance = distance;
    }
  }
  return best;
}

std::optional<BytesPerSecond> read_bandwidth(const Machine& machine, int cores, Bytes bytes) {
  std::optional<BytesPerSecond> best;
  std::pair<int, double> best_distance;
  for (const StreamBandwidth& s : machine.bandwidths) {
    if (s.kernel != "read") continue;
    const std::pair distance(std::abs(s.cores - cores), std::abs(std::log2(s.working_set / bytes)));
    if (best && !(distance < best_distance)) continue;
    best = s.bandwidth.value * (static_cast<double>(cores) / s.cores);
    best_distance = distance;
  }
  return best;
}

void raise(FlopPerSecond& rate, FlopPerSecond measured) { rate = std::max(rate, measured); }

// A kernel that did better than the ceiling's own probe is the ceiling.
void raise_by_kernels(const Machine& machine, DType dtype, Load load, FlopPerSecond& rate) {
  for (const MatmulSample& s : machine.matmul) {
    if (s.dtype == dtype && s.load == load) raise(rate, s.rate.value);
  }
  for (const ConvolutionSample& s : machine.convolution) {
    if (s.dtype == dtype && s.load == load) raise(rate, s.rate.value);
  }
}

}  // namespace

Ceilings ceilings(const Machine& machine, DType dtype, Load load, Bytes bytes) {
  const int cores = load.threads + load.busy_cores;
  const double share = static_cast<double>(load.threads) / cores;
  Ceilings result;
  if (const auto rate = best_compute(machine, dtype, cores)) {
    result.compute = *rate * share;
    raise_by_kernels(machine, dtype, load, *result.compute);
  }
  if (bytes > Bytes(0)) {
    if (const auto rate = read_bandwidth(machine, cores, bytes / share)) {
      result.memory = *rate * share;
      for (const ElementwiseSample& s : machine.elementwise) {
        if (s.load == load && s.bytes >= bytes) {
          result.memory = std::max(*result.memory, s.bandwidth.value);
        }
      }
    }
  }
  return result;
}

Seconds roofline_floor(const Machine& machine, DType dtype, int threads, Cost cost) {
  FlopPerSecond flop_rate;
  for (const ComputeCeiling& c : machine.compute) {
    if (c.dtype != to_string(dtype)) continue;
    flop_rate = std::max(flop_rate, c.rate.high * (static_cast<double>(threads) / c.cores));
  }
  if (flop_rate > FlopPerSecond(0)) {
    for (const MatmulSample& s : machine.matmul) {
      if (s.dtype == dtype && s.load.threads == threads)
        flop_rate = std::max(flop_rate, s.rate.high);
    }
    for (const ConvolutionSample& s : machine.convolution) {
      if (s.dtype == dtype && s.load.threads == threads)
        flop_rate = std::max(flop_rate, s.rate.high);
    }
  }
  // A quarter: operands that were just written may still be nearer than the whole set would be.
  const Bytes nearest = cost.bytes / 4;
  BytesPerSecond byte_rate;
  for (const StreamBandwidth& s : machine.bandwidths) {
    if (s.working_set < nearest) continue;
    byte_rate = std::max(byte_rate, s.bandwidth.high * (static_cast<double>(threads) / s.cores));
  }
  if (byte_rate > BytesPerSecond(0)) {
    for (const ElementwiseSample& s : machine.elementwise) {
      if (s.bytes >= nearest) byte_rate = std::max(byte_rate, s.bandwidth.high);
    }
    for (const PoolSample& s : machine.pooling) {
      if (s.bytes >= nearest) byte_rate = std::max(byte_rate, s.bandwidth.high);
    }
  }
  Seconds floor;
  if (flop_rate > FlopPerSecond(0)) floor = std::max(floor, cost.flop / flop_rate);
  if (byte_rate > BytesPerSecond(0)) floor = std::max(floor, cost.bytes / byte_rate);
  return floor;
}

std::string bound_by(const OperatorTime& time) {
  if (time.time < kDispatchBound * time.dispatch) return "dispatch";
  return time.memory > time.compute ? "memory" : "compute";
}

OperatorTime with(OperatorTime time, const WhatIf& what_if) {
  const Seconds before = std::max(time.compute, time.memory);
  const Seconds work = time.time - time.dispatch;
  time.compute = time.compute / what_if.compute_ratio;
  time.memory = time.memory / what_if.memory_ratio;
  const Seconds after = std::max(time.compute, time.memory);
  const double change = before > Seconds(0) ? after / before : 1.0 / what_if.compute_ratio;
  time.dispatch = time.dispatch * what_if.dispatch_ratio;
  time.time = time.dispatch + work * change;
  return time;
}

}  // namespace plimsoll::models
