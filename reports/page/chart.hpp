// A chart answers one question: a Vega-Lite specification and the table of the same numbers.

#pragma once

#include <string>
#include <vector>

#include "core/record.hpp"

namespace plimsoll::reports {

struct Column {
  std::string title;
  bool number = false;  // right-aligned
};

struct Table {
  std::string name;     // file name when saved
  std::string caption;  // what a row is
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // plain text; escaped when written
};

struct Chart {
  std::string id;           // "load-latency"; unique on a page
  std::string title;        // the question
  std::string description;  // how to read it, and what it leaves out
  std::string spec;         // Vega-Lite as JSON text; empty: a table alone answers better
  Table table;
};

using Reports = std::vector<Report>;

// Every question that these reports can answer, in the order of the page. Questions about which
// nothing was measured are absent.
[[nodiscard]] std::vector<Chart> charts(const Reports& reports);

// --- One function a question; each appends nothing when its numbers are missing ------------------
// Of one machine report.
void add_load_latency(const Report& machine, std::vector<Chart>& out);
void add_stream_bandwidth(const Report& machine, std::vector<Chart>& out);
void add_matmul_roofline(const Report& machine, std::vector<Chart>& out);
void add_all_reduce(const Report& machine, std::vector<Chart>& out);
// Of all reports together.
void add_step_times(const Reports& reports, std::vector<Chart>& out);
void add_step_errors(const Reports& reports, std::vector<Chart>& out);
void add_step_phases(const Reports& reports, std::vector<Chart>& out);
void add_loss(const Reports& reports, std::vector<Chart>& out);
void add_limits(const Reports& reports, std::vector<Chart>& out);
void add_sensitivity(const Reports& reports, std::vector<Chart>& out);

}  // namespace plimsoll::reports
