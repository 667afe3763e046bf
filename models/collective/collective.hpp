// Collectives: closed forms for equal links, and the measured sweep, which is preferred.

#pragma once

#include <string>

#include "core/machine.hpp"

namespace plimsoll::models {

struct Link {
  Seconds latency;           // of one message
  BytesPerSecond bandwidth;  // each direction
  // Rate at which a rank adds received bytes; 0: additions are hidden behind the transfers.
  BytesPerSecond reduction{};
};

struct CollectiveRequest {
  int ranks = 1;
  Bytes payload;
};

struct CollectiveTime {
  Seconds latency, transfer, reduction;
  [[nodiscard]] Seconds total() const { return latency + transfer + reduction; }
};

[[nodiscard]] CollectiveTime ring_all_reduce(const CollectiveRequest& request, const Link& link);
[[nodiscard]] CollectiveTime recursive_doubling_all_reduce(const CollectiveRequest& request,
                                                           const Link& link);

struct MeasuredTime {
  Seconds time{}, low{}, high{};
  double log_sd = 0;  // of the interpolation
  bool extrapolated = false;
  std::string assumption{};  // what was substituted; empty when nothing was
};

// From the machine's sweep of this communicator and algorithm. Ranks that were not measured get the
// ring's closed form through the nearest sweep. Error naming the probe when there is no sweep.
[[nodiscard]] MeasuredTime measured_all_reduce(const Machine& machine,
                                               const CollectiveRequest& request,
                                               const std::string& comm,
                                               const std::string& algorithm);

}  // namespace plimsoll::models
