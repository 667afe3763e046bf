// The table of formats.

#include "reports/format/format.hpp"

#include "reports/format/html.hpp"

namespace plimsoll::reports {
namespace {

template <std::string (*one)(const Report&)>
std::string each(const std::vector<Report>& reports) {
  std::string text;
  for (const Report& report : reports) text += (text.empty() ? "" : "\n") + one(report);
  return text;
}

std::string html(const std::vector<Report>& reports) { return html_page(reports); }

}  // namespace

const std::vector<Format>& formats() {
  static const std::vector<Format> kFormats = {
      {"terminal", ".txt", "aligned tables", each<terminal>},
      {"markdown", ".md", "tables for issues and pull requests", each<markdown>},
      {"csv", ".csv", "one row a metric, SI base units", csv},
      {"html", ".html", "one page with charts", html}};
  return kFormats;
}

}  // namespace plimsoll::reports
