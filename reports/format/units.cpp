// One ladder of prefixes for each unit; the highest step that leaves a value of at least 1 wins.

#include "reports/format/units.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace plimsoll::reports {
namespace {

struct Step {
  double factor;
  const char* unit;
};
struct Ladder {
  const char* unit;
  std::vector<Step> steps;  // ascending
};

const std::vector<Ladder>& ladders() {
  static const std::vector<Ladder> kLadders = {
      {"s", {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}}},
      {"B", {{1, "B"}, {0x1p10, "KiB"}, {0x1p20, "MiB"}, {0x1p30, "GiB"}, {0x1p40, "TiB"}}},
      {"B/s", {{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}}},
      {"FLOP/s",
       {{1, "FLOP/s"}, {1e6, "MFLOP/s"}, {1e9, "GFLOP/s"}, {1e12, "TFLOP/s"}, {1e15, "PFLOP/s"}}},
      {"FLOP", {{1, "FLOP"}, {1e6, "MFLOP"}, {1e9, "GFLOP"}, {1e12, "TFLOP"}}},
      {"Hz", {{1, "Hz"}, {1e6, "MHz"}, {1e9, "GHz"}}},
      {"1/s", {{1, "/s"}}},
      {"1", {{1, ""}}}};
  return kLadders;
}

// Three significant digits; whole numbers above a thousand keep all of theirs.
std::string digits(double value) {
  const double magnitude = std::abs(value);
  if (magnitude == 0) return "0";
  if (magnitude >= 1e7 || magnitude < 1e-3) return fmt::format("{:.3g}", value);
  const int decimals = magnitude >= 99.95    ? 0
                       : magnitude >= 9.995  ? 1
                       : magnitude >= 0.9995 ? 2
                                             : 4;
  return fmt::format("{:.{}f}", value, decimals);
}

// 4 KiB rather than 4.00 KiB: sizes are mostly whole.
std::string digits_of(double value, std::string_view unit) {
  const bool whole = std::nearbyint(value) == value && std::abs(value) < 1e7;
  return whole && (unit == "B" || unit == "1") ? fmt::format("{:.0f}", value) : digits(value);
}

std::string joined(const std::string& number, const std::string& unit) {
  return unit.empty() ? number : number + " " + unit;
}

}  // namespace

Scale scale_for(double value, std::string_view unit) {
  for (const Ladder& ladder : ladders()) {
    if (unit != ladder.unit) continue;
    Step best = value == 0 && unit == "s" ? ladder.steps.back() : ladder.steps.front();
    // 999.96 would print as 1000: it belongs to the next step.
    for (const Step& step : ladder.steps) {
      if (std::abs(value) >= 0.99995 * step.factor) best = step;
    }
    return {.factor = best.factor, .unit = best.unit};
  }
  return {.factor = 1, .unit = std::string(unit)};
}

std::string human(double value, std::string_view unit) {
  const Scale scale = scale_for(value, unit);
  return joined(digits_of(value / scale.factor, unit), scale.unit);
}

std::string human_interval(double value, double low, double high, std::string_view unit) {
  const Scale scale = scale_for(value, unit);
  return fmt::format("{} [{} .. {}]", human(value, unit), digits(low / scale.factor),
                     digits(high / scale.factor));
}

std::string human_range(double low, double high, std::string_view unit) {
  const Scale a = scale_for(low, unit), b = scale_for(high, unit);
  const std::string first = digits_of(low / a.factor, unit);
  return fmt::format("{} .. {}", a.unit == b.unit ? first : joined(first, a.unit),
                     human(high, unit));
}

std::string human_percent(double ratio, bool with_sign) {
  return with_sign ? fmt::format("{:+.1f} %", 100 * ratio) : fmt::format("{:.1f} %", 100 * ratio);
}

}  // namespace plimsoll::reports
