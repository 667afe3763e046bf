// A summary as plain text: aligned columns, verdicts in words, nothing that needs a colour.

#include <algorithm>

#include "reports/format/format.hpp"
#include "reports/format/summary.hpp"

namespace plimsoll::reports {
namespace {

// Control characters in a report must not drive the reader's terminal.
std::string printable(const std::string& text) {
  std::string out = text;
  std::replace_if(
      out.begin(), out.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20U || c == '\x7f'; }, '?');
  return out;
}

std::size_t width_of(const std::string& text) {  // in characters, not bytes
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

void add_row(const std::vector<std::string>& cells, const std::vector<TextColumn>& columns,
             const std::vector<std::size_t>& widths, std::string& out) {
  std::string line = " ";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = printable(cells[i]);
    const std::string padding(widths[i] - std::min(widths[i], width_of(cell)), ' ');
    line += i == 0 ? " " : "  ";
    line += columns[i].right ? padding + cell : cell + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + '\n';
}

void add_table(const TextTable& table, std::string& out) {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    titles.push_back(table.columns[i].title);
    std::size_t width = width_of(titles.back());
    for (const auto& row : table.rows) width = std::max(width, width_of(printable(row.at(i))));
    widths.push_back(width);
  }
  add_row(titles, table.columns, widths, out);
  for (const auto& row : table.rows) add_row(row, table.columns, widths, out);
}

}  // namespace

std::string terminal(const Report& report) {
  std::string out;
  for (const Section& section : summary_of(report)) {
    if (!out.empty()) out += '\n';
    out += printable(section.title) + '\n';
    for (const std::string& line : section.lines) out += "  " + printable(line) + '\n';
    if (!section.table.rows.empty()) add_table(section.table, out);
  }
  return out;
}

}  // namespace plimsoll::reports
