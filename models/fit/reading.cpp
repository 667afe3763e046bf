// A metric's value as an estimate.
//
//     value = metric.value;  [low, high] = its interval, widened to hold the value
//
// Source    The report schema: core/record.hpp.
// Assumes   An interval has 95 % confidence, as every probe's has. Without an interval, two samples
// or
//           more give median +- 1.96 * 1.4826 mad / sqrt(count); else the value stands alone.
// Fails     A value or bound that is not positive and finite is an Error: no time or rate is.
// Limits    Low bounds at or below 0 become a tenth of the value.
// Tests     tests/models/fit/fit_test.cpp.

#include "models/fit/reading.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>
#include <vector>

namespace plimsoll::models {
namespace {

Error broken(const Metric& metric, const std::string& what) {
  std::string params;
  for (const auto& [name, value] : metric.params) {
    params += (params.empty() ? " {" : ", ") + name + ": ";
    std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, std::string>) {
            params += v;
          } else if constexpr (std::is_same_v<T, bool>) {
            params += v ? "true" : "false";
          } else {
            params += std::to_string(v);
          }
        },
        value);
  }
  if (!params.empty()) params += "}";
  return Error(what, "metric " + metric.name + params,
               "measure again with `plimsoll probe`, or correct the machine report");
}

const ParamValue* find(const Metric& metric, const std::string& name) {
  const auto found = metric.params.find(name);
  return found == metric.params.end() ? nullptr : &found->second;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

double spread_of_median(const std::vector<double>& samples) {
  const double centre = median(samples);
  std::vector<double> distances;
  distances.reserve(samples.size());
  for (const double s : samples) distances.push_back(std::abs(s - centre));
  return 1.96 * 1.4826 * median(distances) / std::sqrt(static_cast<double>(samples.size()));
}

}  // namespace

bool usable(const Metric& metric) { return metric.status == Status::ok; }

std::string text_param(const Metric& metric, const std::string& name) {
  const ParamValue* value = find(metric, name);
  if (value == nullptr) throw broken(metric, "parameter '" + name + "' is missing");
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  throw broken(metric, "parameter '" + name + "' is not a text");
}

bool flag_param(const Metric& metric, const std::string& name) {
  const ParamValue* value = find(metric, name);
  if (value == nullptr) return false;
  if (const auto* flag = std::get_if<bool>(value)) return *flag;
  throw broken(metric, "parameter '" + name + "' is not true or false");
}

std::int64_t count_param(const Metric& metric, const std::string& name, std::int64_t least) {
  const ParamValue* value = find(metric, name);
  if (value == nullptr) throw broken(metric, "parameter '" + name + "' is missing");
  const auto* count = std::get_if<std::int64_t>(value);
  if (count == nullptr) throw broken(metric, "parameter '" + name + "' is not a whole number");
  if (*count < least) {
    throw broken(metric, "parameter '" + name + "' is " + std::to_string(*count) + ", less than " +
                             std::to_string(least));
  }
  return *count;
}

std::int64_t count_param_or(const Metric& metric, const std::string& name, std::int64_t least,
                            std::int64_t otherwise) {
  return find(metric, name) == nullptr ? otherwise : count_param(metric, name, least);
}

Load load_of(const Metric& metric) {
  const auto narrow = [&](const std::string& name, std::int64_t value) {
    if (value > 1'000'000) throw broken(metric, "parameter '" + name + "' is too large");
    return static_cast<int>(value);
  };
  return {.threads = narrow("threads", count_param_or(metric, "threads", 1, 1)),
          .busy_cores = narrow("busy_cores", count_param_or(metric, "busy_cores", 0, 0))};
}

Direction direction_of(const Metric& metric) {
  if (find(metric, "direction") == nullptr) return Direction::forward;
  const std::string text = text_param(metric, "direction");
  for (const Direction direction :
       {Direction::forward, Direction::backward_data, Direction::backward_weights}) {
    if (to_string(direction) == text) return direction;
  }
  throw broken(metric, "direction '" + text + "' is unknown");
}

PlainEstimate plain_estimate(const Metric& metric) {
  if (!metric.value) throw broken(metric, "status is ok but there is no value");
  const double value = *metric.value;
  if (!std::isfinite(value) || value <= 0) {
    throw broken(metric, "value " + std::to_string(value) + " is not positive and finite");
  }
  double low = value, high = value;
  if (metric.interval) {
    low = metric.interval->low;
    high = metric.interval->high;
    if (!std::isfinite(low) || !std::isfinite(high) || low > high) {
      throw broken(metric, "its interval is not one");
    }
  } else if (metric.samples.size() >= 2 && metric.unit == "s") {
    const double spread = spread_of_median(metric.samples);
    low = value - spread;
    high = value + spread;
  }
  low = std::min(low, value);
  if (low <= 0) low = value / 10;
  return {value, low, std::max(high, value)};
}

}  // namespace plimsoll::models
