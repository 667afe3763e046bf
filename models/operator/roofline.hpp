// The ceilings of a machine, and what binds a piece of work under them.

#pragma once

#include <optional>
#include <string>

#include "core/machine.hpp"
#include "models/what_if.hpp"

namespace plimsoll::models {

// Of one rank: its own cores while the other ranks' cores are busy too. Absent: not measured.
struct Ceilings {
  std::optional<FlopPerSecond> compute;
  std::optional<BytesPerSecond> memory;
};

// What all the rank's cores reach together while `load.busy_cores` others do the same; `bytes` is
// the rank's working set.
[[nodiscard]] Ceilings ceilings(const Machine& machine, DType dtype, Load load, Bytes bytes);

// No time may be shorter: the upper ends of the ceilings' intervals, alone on the machine, raised
// by any measured kernel that did better.
[[nodiscard]] Seconds roofline_floor(const Machine& machine, DType dtype, int threads, Cost cost);

// One operator call: how long, what of it is the call itself, and its roofline times.
struct OperatorTime {
  Seconds time;
  Seconds dispatch;                 // part of `time`
  Seconds compute, memory;          // work over ceiling: which is larger binds
  double measured_error_ratio = 0;  // half width of a 95 % interval over time: the measurements
  double model_error_ratio = 0;     // the same of the interpolation
  bool extrapolated = false;
};

// compute | memory | dispatch.
[[nodiscard]] std::string bound_by(const OperatorTime& time);

// Scales the call's cost by the dispatch factor and the rest as its roofline moves; the
// inefficiency over the roofline is kept.
[[nodiscard]] OperatorTime with(OperatorTime time, const WhatIf& what_if);

}  // namespace plimsoll::models
