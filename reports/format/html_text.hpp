// Text for people inside HTML: escaping, and numbers with the prefix that fits them.

#pragma once

#include <string>
#include <string_view>

#include "core/plan.hpp"
#include "core/record.hpp"

namespace plimsoll::reports {

// Safe as element text and inside a quoted attribute; control characters become U+FFFD.
[[nodiscard]] std::string escaped(std::string_view text);

// "95.3 ns", "4 KiB", "12.1 GB/s", "1.31 TFLOP/s", "41.2 k/s", "0.97": by the unit of a metric.
[[nodiscard]] std::string with_unit(double value, std::string_view unit);
[[nodiscard]] std::string percent(double ratio);                              // 0.123 -> "12.3 %"
[[nodiscard]] std::string signed_percent(double ratio);                       // 0.123 -> "+12.3 %"
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun);  // "1 run", "2 runs"
[[nodiscard]] std::string plain(const ParamValue& value);
[[nodiscard]] std::string joined(const Params& params);  // "cores=2, kernel=triad"

// "mlp, batch 64, 2 workers": what differs from the default plan is added, the rest is left out.
[[nodiscard]] std::string plan_label(const Plan& plan);

}  // namespace plimsoll::reports
