// Memory levels: latency and bandwidth by working set, as measured; no level is assumed.
//
//     Machine::latencies, Machine::bandwidths = the measured points
//
// Source    Probes memory.load_latency and memory.stream_bandwidth.
// Assumes   A working set of all cores together; bandwidths counted as STREAM does (the bytes the
//           program names, without write-allocate).
// Fails     -
// Limits    -
// Tests     tests/models/fit/fit_test.cpp.

#include "models/fit/parts.hpp"
#include "models/fit/reading.hpp"

namespace plimsoll::models {

bool take_memory_levels(const Metric& metric, Machine& machine) {
  if (metric.name == "memory.load_latency") {
    const auto bytes = static_cast<double>(count_param(metric, "working_set_bytes", 1));
    machine.latencies.push_back({.working_set = Bytes(bytes),
                                 .page = text_param(metric, "page"),
                                 .latency = estimate_of<Seconds>(metric)});
    return true;
  }
  if (metric.name == "memory.stream_bandwidth") {
    const auto bytes = static_cast<double>(count_param(metric, "working_set_bytes", 1));
    machine.bandwidths.push_back({.kernel = text_param(metric, "kernel"),
                                  .working_set = Bytes(bytes),
                                  .cores = static_cast<int>(count_param_or(metric, "cores", 1, 1)),
                                  .bandwidth = estimate_of<BytesPerSecond>(metric)});
    return true;
  }
  return false;
}

}  // namespace plimsoll::models
