// A summary as GitHub-flavoured Markdown, for issues and pull requests.

#include "reports/format/format.hpp"
#include "reports/format/summary.hpp"

namespace plimsoll::reports {
namespace {

// Text of a report stays text: no markup, no table cell, no HTML comes out of it.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20U) {
      out += ' ';
      continue;
    }
    if (c == '<') {
      out += "&lt;";
      continue;
    }
    if (std::string_view("\\`*_|[]#").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

void add_table(const TextTable& table, std::string& out) {
  out += '|';
  for (const TextColumn& column : table.columns) out += " " + escaped(column.title) + " |";
  out += "\n|";
  for (const TextColumn& column : table.columns) out += column.right ? " ---: |" : " --- |";
  out += '\n';
  for (const auto& row : table.rows) {
    out += '|';
    for (const std::string& cell : row) out += " " + escaped(cell) + " |";
    out += '\n';
  }
}

}  // namespace

std::string markdown(const Report& report) {
  std::string out;
  bool first = true;
  for (const Section& section : summary_of(report)) {
    out += (first ? "# " : "\n## ") + escaped(section.title) + "\n";
    first = false;
    if (!section.lines.empty()) out += '\n';
    for (const std::string& line : section.lines) {
      const bool nested = line.starts_with("  ");
      out += (nested ? "  - " : "- ") + escaped(nested ? line.substr(2) : line) + "\n";
    }
    if (section.table.rows.empty()) continue;
    out += '\n';
    add_table(section.table, out);
  }
  return out;
}

}  // namespace plimsoll::reports
