// The sections of the page as HTML text. Everything that comes from a report is escaped here.

#pragma once

#include <string>

#include "reports/page/chart.hpp"
#include "reports/page/verdict.hpp"

namespace plimsoll::reports {

[[nodiscard]] std::string header_section(const std::string& title, const Reports& reports,
                                         const Verdict& verdict);
[[nodiscard]] std::string findings_section(const Reports& reports);
[[nodiscard]] std::string chart_section(const std::vector<Chart>& charts, bool drawn);
[[nodiscard]] std::string measurements_section(const Reports& reports);
[[nodiscard]] std::string provenance_section(const Reports& reports);
[[nodiscard]] std::string method_section(const Reports& reports);

[[nodiscard]] std::string table_html(const Table& table);
[[nodiscard]] std::string report_id(std::size_t index);  // of the element that holds its JSON

}  // namespace plimsoll::reports
