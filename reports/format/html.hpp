// One page for a set of reports: verdict, findings with fixes, a chart and a table per question,
// provenance, how it was measured. One file that opens offline and fetches nothing.

#pragma once

#include <string>
#include <vector>

#include "core/record.hpp"

namespace plimsoll::reports {

// `reports` may mix kinds (machine, prediction, run, validation, comparison) and holds at least
// one. An empty title: made from what the reports are about.
[[nodiscard]] std::string html_page(const std::vector<Report>& reports,
                                    const std::string& title = "");

// False when the library was built without npm, or npm could not fetch: pages then have tables
// only.
[[nodiscard]] bool html_has_charts();

}  // namespace plimsoll::reports
