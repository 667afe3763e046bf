// Which measurements of a kernel speak for the load that training will put on the machine.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/machine.hpp"
#include "models/numeric/surface.hpp"

namespace plimsoll::models {

struct LoadedPoint {
  Load load;
  SurfacePoint point;
};

struct Selection {
  std::vector<SurfacePoint> points;
  double log_sd = 0;         // added doubt of a substitute
  std::string assumption{};  // what was substituted; empty when nothing was
};

// Nothing when there is no point at all.
[[nodiscard]] std::optional<Selection> select(const std::vector<LoadedPoint>& points, Load wanted);

// ln time and its standard error of a measured rate for `work`.
template <class Work, class Rate>
SurfacePoint point_of(std::vector<double> features, Work work, const Rate& rate);

}  // namespace plimsoll::models

#include <cmath>

template <class Work, class Rate>
plimsoll::models::SurfacePoint plimsoll::models::point_of(std::vector<double> features, Work work,
                                                          const Rate& rate) {
  constexpr double kIntervalWidth = 2 * 1.96;  // of a 95 % interval, in standard errors
  return {.features = std::move(features),
          .log_time = std::log((work / rate.value).value()),
          .log_error = std::log(rate.high.value() / rate.low.value()) / kIntervalWidth};
}
