// The heading and the findings of every report, the plan in words, and the choice of sections.

#include "reports/format/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/format/units.hpp"
#include "reports/json_fields.hpp"

namespace plimsoll::reports {
namespace {

Section heading(const Report& report) {
  const Environment& e = report.environment;
  Section section;
  section.title = fmt::format("plimsoll {} report", kind_name(report.subject));
  if (!e.hostname.empty()) {
    section.lines.push_back(fmt::format("{}  {}  {} cores, {}{}", e.hostname, e.cpu_model, e.cores,
                                        human(static_cast<double>(e.memory_bytes), "B"),
                                        e.virtualised ? ", virtual" : ""));
  }
  section.lines.push_back(
      fmt::format("{}  {}  quality {}", report.created, report.id, report.quality.verdict));
  return section;
}

Section finding_section(const std::vector<Finding>& findings) {
  Section section{.title = "findings", .lines = {}, .table = {}};
  for (const Finding& finding : findings) {
    section.lines.push_back(
        fmt::format("{}  {}  {}", word(finding.severity), finding.id, finding.message));
    if (!finding.effect.empty()) section.lines.push_back("  effect: " + finding.effect);
    if (!finding.fix.empty()) section.lines.push_back("  fix: " + finding.fix);
  }
  return section;
}

Section input_section(const Comparison& comparison) {
  Section section{
      .title = "inputs", .lines = {}, .table = {.columns = {{"report"}, {"created"}, {"id"}}}};
  for (const ReportRef& input : comparison.inputs) {
    section.table.rows.push_back({input.path, input.created, input.id});
  }
  return section;
}

// A column in which no row says anything is left out.
void drop_empty_columns(TextTable& table) {
  for (std::size_t i = table.columns.size(); i-- > 0;) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    const bool empty = std::all_of(table.rows.begin(), table.rows.end(),
                                   [&](const auto& row) { return row.at(i).empty(); });
    if (!empty) continue;
    table.columns.erase(table.columns.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
}

struct Sections {
  const Report& report;
  std::vector<Section> operator()(const MachineSubject& s) const {
    return machine_sections(report, s);
  }
  std::vector<Section> operator()(const Prediction& s) const { return prediction_sections(s); }
  std::vector<Section> operator()(const Run& s) const { return run_sections(report, s); }
  std::vector<Section> operator()(const Validation& s) const {
    return validation_sections(report, s);
  }
  std::vector<Section> operator()(const Comparison& s) const {
    std::vector<Section> sections = metric_sections(report);
    sections.insert(sections.begin(), input_section(s));
    return sections;
  }
};

}  // namespace

std::string unusual_plan_words(const Plan& plan) {
  const Plan usual;
  std::string words;
  const auto add = [&](bool differs, const std::string& text) {
    if (differs) words += (words.empty() ? "" : ", ") + text;
  };
  add(plan.dtype != usual.dtype, std::string(word(plan.dtype)));
  add(plan.device != usual.device, plan.device);
  add(plan.comm != usual.comm, "comm " + plan.comm);
  add(plan.sync != usual.sync, "sync " + plan.sync);
  add(plan.algorithm != usual.algorithm, "algorithm " + plan.algorithm);
  add(plan.bucket != usual.bucket, "bucket " + human(plan.bucket.value(), "B"));
  add(plan.overlap != usual.overlap, "no overlap");
  add(plan.execution != usual.execution, "execution " + plan.execution);
  add(plan.loader_workers != usual.loader_workers,
      fmt::format("{} loader workers", plan.loader_workers));
  add(plan.prefetch != usual.prefetch, fmt::format("prefetch {}", plan.prefetch));
  add(plan.accumulate != usual.accumulate, fmt::format("{} micro-batches", plan.accumulate));
  add(plan.optimizer != usual.optimizer, plan.optimizer);
  return words;
}

std::string plan_words(const Plan& plan) {
  const std::string unusual = unusual_plan_words(plan);
  return fmt::format("{}, {}, batch {}, {} worker{} of {} thread{}{}{}", plan.workload,
                     word(plan.dtype), plan.batch, plan.workers, plan.workers == 1 ? "" : "s",
                     plan.threads, plan.threads == 1 ? "" : "s", unusual.empty() ? "" : ", ",
                     unusual);
}

std::vector<Section> summary_of(const Report& report) {
  std::vector<Section> sections = {heading(report)};
  for (Section& section : std::visit(Sections{report}, report.subject)) {
    sections.push_back(std::move(section));
  }
  if (!report.findings.empty()) sections.push_back(finding_section(report.findings));
  for (Section& section : sections) drop_empty_columns(section.table);
  return sections;
}

}  // namespace plimsoll::reports
