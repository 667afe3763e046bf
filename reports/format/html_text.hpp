// Text for people inside HTML: escaping, labels, lists.

#pragma once

#include <string>
#include <string_view>

#include "core/plan.hpp"
#include "core/record.hpp"

namespace plimsoll::reports {

// Safe as element text and inside a quoted attribute; control characters become U+FFFD.
[[nodiscard]] std::string escaped(std::string_view text);

[[nodiscard]] std::string counted(std::size_t count, std::string_view noun);  // "1 run", "2 runs"
// "2026-01-15T10:50:00.000000Z" -> "2026-01-15 10:50 UTC"; anything else stays.
[[nodiscard]] std::string short_time(const std::string& created);
[[nodiscard]] std::string plain(const ParamValue& value);
[[nodiscard]] std::string joined(const Params& params);  // "cores=2, kernel=triad"

// "mlp, batch 64, 2 workers": what differs from the default plan is added, the rest is left out.
[[nodiscard]] std::string plan_label(const Plan& plan);

}  // namespace plimsoll::reports
