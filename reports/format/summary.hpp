// What a report says to a person, before anything is drawn: sections of lines and tables. The
// terminal and Markdown show the same summary. Internal to reports/format/.

#pragma once

#include <string>
#include <vector>

#include "core/record.hpp"

namespace plimsoll::reports {

// Not the Table of reports/page/: that one is for a chart.
struct TextColumn {
  std::string title;
  bool right = false;  // numbers stand to the right
};
struct TextTable {
  std::vector<TextColumn> columns;
  std::vector<std::vector<std::string>> rows;
};
struct Section {
  std::string title;
  std::vector<std::string> lines;
  TextTable table;
};

// The first section is the report's heading.
[[nodiscard]] std::vector<Section> summary_of(const Report& report);

// The parts, one file for the measured side and one for the judged side.
[[nodiscard]] std::vector<Section> metric_sections(const Report& report);
[[nodiscard]] std::vector<Section> machine_sections(const Report& report,
                                                    const MachineSubject& subject);
[[nodiscard]] std::vector<Section> run_sections(const Report& report, const Run& run);
[[nodiscard]] std::vector<Section> prediction_sections(const Prediction& prediction);
[[nodiscard]] std::vector<Section> validation_sections(const Report& report,
                                                       const Validation& validation);

// "analytic" or "analytic, drift-corrected": the two figures of a tier are never shown alike. Empty
// when the metric has no tier.
[[nodiscard]] std::string tier_words(const Params& params);

[[nodiscard]] std::string plan_words(const Plan& plan);          // "mlp, batch 256, 2 workers, ..."
[[nodiscard]] std::string unusual_plan_words(const Plan& plan);  // what is not as by default

}  // namespace plimsoll::reports
