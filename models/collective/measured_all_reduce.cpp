// All-reduce from a measured sweep.
//
//     T(S) = log-log interpolation of the sweep of these ranks, communicator and algorithm
//     other ranks:  T(S) scaled by ring(n, S) / ring(n_measured, S), alpha and B from the sweep's
//     ends
//
// Source    models/numeric/sweep.cpp; interpolating measured sweeps misses by 2 to 6 % where fitted
//           lines miss by 9 to 15 % and tuner formulas by up to 60 %.
// Assumes   The probe's ranks were placed as training places them.
// Fails     Without any sweep of the communicator and algorithm: an Error naming the probe.
// Limits    Below the smallest size: its time (latency). Above the largest: its rate. Both flagged.
// Tests     tests/models/collective/collective_test.cpp.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "core/error.hpp"
#include "models/collective/collective.hpp"
#include "models/numeric/sweep.hpp"

namespace plimsoll::models {
namespace {

constexpr double kOtherRanksSd = 0.15;

// The measured number of ranks nearest to the one asked for; 0 when there is none.
int nearest_ranks(const Machine& machine, int ranks, const std::string& comm,
                  const std::string& algorithm) {
  int best = 0;
  for (const AllReduceSample& s : machine.all_reduce) {
    if (s.comm != comm || s.algorithm != algorithm || s.ranks < 2) continue;
    if (best == 0 || std::abs(s.ranks - ranks) < std::abs(best - ranks)) best = s.ranks;
  }
  return best;
}

Sweep sweep_of(const Machine& machine, int ranks, const std::string& comm,
               const std::string& algorithm) {
  std::vector<SweepPoint> points;
  for (const AllReduceSample& s : machine.all_reduce) {
    if (s.comm != comm || s.algorithm != algorithm || s.ranks != ranks) continue;
    points.push_back({.size = s.bytes.value(),
                      .time = s.time.value.value(),
                      .low = s.time.low.value(),
                      .high = s.time.high.value()});
  }
  return make_sweep(std::move(points));
}

// Latency and bandwidth that make the ring's closed form meet both ends of a sweep.
Link ring_through(const Sweep& sweep, int ranks) {
  const SweepPoint& first = sweep.points.front();
  const SweepPoint& last = sweep.points.back();
  const double steps = 2.0 * (ranks - 1);
  const double moved = 2.0 * (ranks - 1) / ranks * last.size;
  const double transfer = std::max(last.time - first.time, 0.5 * last.time);
  return {.latency = Seconds(first.time / steps), .bandwidth = BytesPerSecond(moved / transfer)};
}

}  // namespace

MeasuredTime measured_all_reduce(const Machine& machine, const CollectiveRequest& request,
                                 const std::string& comm, const std::string& algorithm) {
  expects(request.ranks >= 1, "measured_all_reduce: needs at least one rank");
  expects(request.payload >= Bytes(0), "measured_all_reduce: payload cannot be negative");
  if (request.ranks == 1) return {};
  const int measured = nearest_ranks(machine, request.ranks, comm, algorithm);
  if (measured == 0) {
    throw Error("the machine has no collective.all_reduce.time for --comm " + comm +
                    " --algorithm " + algorithm,
                machine.name.empty() ? "machine" : machine.name,
                "run `plimsoll probe collective.all_reduce` on it and use the new report");
  }
  const Sweep sweep = sweep_of(machine, measured, comm, algorithm);
  const SweepValue value = at(sweep, request.payload.value());
  MeasuredTime result{.time = Seconds(value.time),
                      .low = Seconds(value.low),
                      .high = Seconds(value.high),
                      .log_sd = value.log_sd,
                      .extrapolated = value.extrapolated};
  if (measured != request.ranks) {
    const Link link = ring_through(sweep, measured);
    const Seconds here = ring_all_reduce(request, link).total();
    const Seconds there =
        ring_all_reduce({.ranks = measured, .payload = request.payload}, link).total();
    const double scale =
        (request.ranks > measured ? result.time + here - there : here) / result.time;
    result.time = result.time * scale;
    result.low = result.low * scale;
    result.high = result.high * scale;
    result.log_sd = std::hypot(result.log_sd, kOtherRanksSd);
    result.extrapolated = true;
    result.assumption = "collective.all_reduce: not measured with " +
                        std::to_string(request.ranks) + " ranks; taken from " +
                        std::to_string(measured) + " along the ring's closed form";
  }
  return result;
}

}  // namespace plimsoll::models
