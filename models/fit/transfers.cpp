// Transfers: collectives between ranks, round trips, storage, as measured.
//
//     Machine::{all_reduce, round_trips, storage} = the measured points
//
// Source    Probes collective.all_reduce, network.round_trip, storage.read.
// Assumes   Ranks of the collective sit on their own cores, as in training.
// Fails     -
// Limits    -
// Tests     tests/models/fit/fit_test.cpp.

#include "models/fit/parts.hpp"
#include "models/fit/reading.hpp"

namespace plimsoll::models {

bool take_transfers(const Metric& metric, Machine& machine) {
  if (metric.name == "collective.all_reduce.time") {
    machine.all_reduce.push_back(
        {.bytes = Bytes(static_cast<double>(count_param(metric, "bytes", 1))),
         .ranks = static_cast<int>(count_param(metric, "ranks", 1)),
         .comm = text_param(metric, "comm"),
         .algorithm = text_param(metric, "algorithm"),
         .time = estimate_of<Seconds>(metric)});
  } else if (metric.name == "network.round_trip.time") {
    machine.round_trips.push_back(
        {.transport = text_param(metric, "transport"),
         .bytes = Bytes(static_cast<double>(count_param(metric, "bytes", 0))),
         .time = estimate_of<Seconds>(metric)});
  } else if (metric.name == "storage.read.bandwidth") {
    machine.storage.push_back(
        {.block_bytes = count_param(metric, "block_bytes", 1),
         .queue_depth = static_cast<int>(count_param_or(metric, "queue_depth", 1, 1)),
         .engine = text_param(metric, "engine"),
         .pattern = text_param(metric, "pattern"),
         .direct = flag_param(metric, "direct"),
         .bandwidth = estimate_of<BytesPerSecond>(metric)});
  } else {
    return false;
  }
  return true;
}

}  // namespace plimsoll::models
