// Numbers for people: the one place where prefixes exist. Files hold SI base units only.
//
// Bandwidth and rates are decimal (GB/s, GFLOP/s), sizes binary (KiB, MiB), times ns, us, ms, s.
// Three significant digits, a decimal point under any locale.

#pragma once

#include <string>
#include <string_view>

namespace plimsoll::reports {

struct Scale {
  double factor = 1;  // shown value = value / factor
  std::string unit;   // "GB/s"; empty for unit 1
};
[[nodiscard]] Scale scale_for(double value, std::string_view unit);

// "95.3 ns", "4 KiB", "12.1 GB/s", "1.31 TFLOP/s", "19500 /s", "0.97"
[[nodiscard]] std::string human(double value, std::string_view unit);
// "95.3 ns [94.1 .. 97.0]": the interval in the unit of the value
[[nodiscard]] std::string human_interval(double value, double low, double high,
                                         std::string_view unit);
// "12.1 .. 98.7 GFLOP/s", each end with its own unit where they differ
[[nodiscard]] std::string human_range(double low, double high, std::string_view unit);
// 0.0312 is "3.1 %", with its sign when asked: "+3.1 %"
[[nodiscard]] std::string human_percent(double ratio, bool with_sign = false);

}  // namespace plimsoll::reports
