// From a machine report's metrics to the Machine that the model reads.
//
// Skipped, failed and implausible metrics are never used; unknown names are ignored. A metric that
// is used but broken (a parameter missing or of the wrong type, a value that is not a positive
// finite number) is an Error naming the metric and the parameter: bad input is never replaced.
// Intervals are kept; a metric without one gets the spread of its samples, or none.

#pragma once

#include <string>
#include <vector>

#include "core/machine.hpp"
#include "core/record.hpp"

namespace plimsoll::models {

// What the report's environment says and no metric does.
struct Host {
  std::string name;
  int usable_cores = 0;
  Bytes memory_capacity;
};

[[nodiscard]] Machine fit(const std::vector<Metric>& metrics, const Host& host = {});

}  // namespace plimsoll::models
