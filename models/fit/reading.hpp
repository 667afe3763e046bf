// Reads one metric: typed parameters and the value with its interval. What is broken is an Error
// naming the metric and the parameter.

#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/estimate.hpp"
#include "core/machine.hpp"
#include "core/record.hpp"

namespace plimsoll::models {

[[nodiscard]] bool usable(const Metric& metric);  // status ok

[[nodiscard]] std::string text_param(const Metric& metric, const std::string& name);
[[nodiscard]] bool flag_param(const Metric& metric, const std::string& name);
[[nodiscard]] std::int64_t count_param(const Metric& metric, const std::string& name,
                                       std::int64_t least);
// The same, with what an absent parameter means.
[[nodiscard]] std::int64_t count_param_or(const Metric& metric, const std::string& name,
                                          std::int64_t least, std::int64_t otherwise);
[[nodiscard]] Load load_of(const Metric& metric);
[[nodiscard]] Direction direction_of(const Metric& metric);

struct PlainEstimate {
  double value, low, high;
};
[[nodiscard]] PlainEstimate plain_estimate(const Metric& metric);

template <class Q>
Estimate<Q> estimate_of(const Metric& metric) {
  const PlainEstimate e = plain_estimate(metric);
  return {.value = Q(e.value),
          .low = Q(e.low),
          .high = Q(e.high),
          .kind = metric.kind,
          .source = metric.name};
}

}  // namespace plimsoll::models
