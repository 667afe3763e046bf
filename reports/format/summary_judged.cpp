// What was predicted, and what became of it: step time, breakdown, limits; the cells of a
// validation and the blame of each phase.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/format/summary.hpp"
#include "reports/format/units.hpp"

namespace plimsoll::reports {
namespace {

std::string time(Seconds seconds) { return human(seconds.value(), "s"); }

Section step_section(const Prediction& p) {
  Section section{.title = p.workload.name, .lines = {plan_words(p.plan)}, .table = {}};
  const auto batch = static_cast<double>(p.plan.batch);
  const Estimate<Seconds>& step = p.step_time;
  section.lines.push_back("step time    " + human_interval(step.value.value(), step.low.value(),
                                                           step.high.value(), "s"));
  if (step.value.value() > 0 && step.low.value() > 0 && step.high.value() > 0) {
    section.lines.push_back("throughput   " +
                            human_interval(batch / step.value.value(), batch / step.high.value(),
                                           batch / step.low.value(), "samples/s"));
  }
  section.lines.push_back("what binds   " + p.binds);
  section.lines.push_back(fmt::format("tier         {}, from {} ({})", p.tier, p.machine.path,
                                      p.machine.sha256.substr(0, 12)));
  return section;
}

Section breakdown_section(const Prediction& p) {
  Section section{.title = "breakdown of a step",
                  .lines = {},
                  .table = {.columns = {{"component"},
                                        {"phase"},
                                        {"time", true},
                                        {"share", true},
                                        {"hidden", true},
                                        {"bound by"},
                                        {"note"}}}};
  for (const BreakdownItem& item : p.breakdown) {
    const double step = p.step_time.value.value();
    const double exposed = (item.seconds - item.hidden).value();
    section.table.rows.push_back({item.component, item.phase, time(item.seconds),
                                  step > 0 ? human_percent(exposed / step) : "-",
                                  item.hidden.value() > 0 ? time(item.hidden) : "-", item.bound_by,
                                  item.extrapolated ? "extrapolated" : ""});
  }
  return section;
}

Section memory_section(const Prediction& p) {
  Section section{
      .title = "memory of a worker", .lines = {}, .table = {.columns = {{"what"}, {"size", true}}}};
  Bytes total;
  for (const MemoryItem& item : p.memory) {
    section.table.rows.push_back({item.name, human(item.bytes.value(), "B")});
    total += item.bytes;
  }
  section.table.rows.push_back({"total", human(total.value(), "B")});
  return section;
}

Section limit_section(const Prediction& p) {
  Section section{.title = "were this the only limit",
                  .lines = {},
                  .table = {.columns = {{"resource"}, {"samples", true}, {"binds"}}}};
  for (const Limit& limit : p.limits) {
    section.table.rows.push_back({limit.resource, human(limit.samples_per_second.value(), "1/s"),
                                  limit.resource == p.binds ? "binds" : ""});
  }
  return section;
}

Section sensitivity_section(const Prediction& p) {
  Section section{.title = "if an input grew by 1 %",
                  .lines = {},
                  .table = {.columns = {{"input"}, {"step time", true}}}};
  for (const Sensitivity& s : p.sensitivity) {
    section.table.rows.push_back({s.input, fmt::format("{:+.2f} %", s.elasticity)});
  }
  return section;
}

Section cell_section(const Validation& v) {
  Section section{.title = "predicted and measured step times", .lines = {}, .table = {}};
  const bool unusual = std::any_of(v.rows.begin(), v.rows.end(), [](const ValidationCell& c) {
    return !unusual_plan_words(c.plan).empty();
  });
  section.table.columns = {{"workload"},        {"batch", true},    {"workers", true},
                           {"predicted", true}, {"measured", true}, {"error", true},
                           {"corrected", true}, {"A/A", true},      {"inside"}};
  if (unusual) section.table.columns.push_back({"plan"});
  for (const ValidationCell& c : v.rows) {
    std::vector<std::string> row = {
        c.plan.workload,
        fmt::format("{}", c.plan.batch),
        fmt::format("{}", c.plan.workers),
        human_interval(c.predicted.value(), c.predicted_low.value(), c.predicted_high.value(), "s"),
        human_interval(c.measured.value(), c.measured_low.value(), c.measured_high.value(), "s"),
        human_percent(c.error, true),
        human_percent(c.corrected_error, true),
        c.aa_spread ? human_percent(*c.aa_spread) : "-",
        c.inside ? "yes" : "no"};
    if (unusual) row.push_back(unusual_plan_words(c.plan));
    section.table.rows.push_back(std::move(row));
  }
  return section;
}

Section verdict_section(const Report& report, const Validation& v) {
  Section section{.title = "verdict", .lines = {}, .table = {}};
  for (const Metric& m : report.metrics) {
    if (!m.value || m.unit != "1" || !m.name.starts_with("validation.")) continue;
    const std::string name = m.name.substr(std::string_view("validation.").size());
    const std::string tier = tier_words(m.params);
    section.lines.push_back(fmt::format("{:<14} {:>8}{}", name,
                                        human_percent(*m.value, name == "bias"),
                                        tier.empty() ? "" : "  " + tier));
  }
  const auto inside =
      std::count_if(v.rows.begin(), v.rows.end(), [](const ValidationCell& c) { return c.inside; });
  section.lines.push_back(
      fmt::format("{} of {} measured times lie in the predicted interval", inside, v.rows.size()));
  section.lines.push_back("drift: " + v.drift_rule);
  section.lines.push_back("leakage: " + v.leakage);
  if (v.partial) section.lines.emplace_back("stopped early: partial");
  return section;
}

// Both sides add up to their step: the predicted one, and the mean of the measured ones.
Section blame_section(const Validation& v) {
  Section section{
      .title = "where the difference is, seconds a step over all cells",
      .lines = {},
      .table = {
          .columns = {
              {"phase"}, {"predicted", true}, {"measured", true}, {"difference", true}, {""}}}};
  double most = 0;
  std::size_t most_row = 0;
  const auto add = [&](const std::string& name, const auto& time_of) {
    Seconds predicted, measured;
    for (const ValidationCell& c : v.rows) {
      predicted += time_of(c.predicted_phases);
      measured += time_of(c.measured_phases);
    }
    const double difference = (predicted - measured).value();
    section.table.rows.push_back({name, time(predicted), time(measured),
                                  (difference > 0 ? "+" : "") + human(difference, "s"), ""});
    return std::abs(difference);
  };
  for (const NamedPhase& phase : kNamedPhases) {
    const double difference =
        add(phase.name, [&](const Phases& phases) { return phases.*phase.time; });
    if (difference <= most) continue;
    most = difference;
    most_row = section.table.rows.size() - 1;
  }
  if (most > 0) section.table.rows[most_row].back() = "<- largest";
  add("all: the mean step", total);
  return section;
}

}  // namespace

std::string tier_words(const Params& params) {
  const auto tier = params.find("tier");
  const auto* name = tier == params.end() ? nullptr : std::get_if<std::string>(&tier->second);
  if (name == nullptr) return "";
  const auto corrected = params.find("corrected");
  const auto* flag = corrected == params.end() ? nullptr : std::get_if<bool>(&corrected->second);
  return flag != nullptr && *flag ? *name + ", drift-corrected" : *name;
}

std::vector<Section> prediction_sections(const Prediction& p) {
  std::vector<Section> sections = {step_section(p)};
  if (!p.breakdown.empty()) sections.push_back(breakdown_section(p));
  if (!p.memory.empty()) sections.push_back(memory_section(p));
  if (!p.limits.empty()) sections.push_back(limit_section(p));
  if (!p.sensitivity.empty()) sections.push_back(sensitivity_section(p));
  Section caveats{.title = "to be read with care", .lines = {}, .table = {}};
  for (const std::string& text : p.extrapolated) caveats.lines.push_back("extrapolated: " + text);
  for (const std::string& text : p.assumptions) caveats.lines.push_back("assumed: " + text);
  if (!caveats.lines.empty()) sections.push_back(caveats);
  return sections;
}

std::vector<Section> validation_sections(const Report& report, const Validation& v) {
  std::vector<Section> sections;
  if (!v.rows.empty()) sections = {cell_section(v), blame_section(v)};
  sections.push_back(verdict_section(report, v));
  return sections;
}

}  // namespace plimsoll::reports
