// How long was a step predicted to take, how long did it take, by how much did that miss, and in
// which phase?

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "reports/format/html_text.hpp"
#include "reports/format/units.hpp"
#include "reports/page/chart.hpp"
#include "reports/page/spec.hpp"
#include "reports/page/steps.hpp"

namespace plimsoll::reports {
namespace {

struct PhaseField {
  const char* name;  // as in the report
  const char* text;
  Seconds Phases::*seconds;
};
constexpr std::array<PhaseField, 8> kPhases = {{
    {"input", "input", &Phases::input},
    {"h2d", "host to device", &Phases::h2d},
    {"forward", "forward", &Phases::forward},
    {"backward", "backward", &Phases::backward},
    {"communication_hidden", "communication during backward", &Phases::communication_hidden},
    {"communication_exposed", "communication, exposed", &Phases::communication_exposed},
    {"optimizer", "optimizer", &Phases::optimizer},
    {"idle", "idle", &Phases::idle},
}};

std::vector<std::string> labels_of(const std::vector<ComparedStep>& steps) {
  std::vector<std::string> labels;
  for (const ComparedStep& step : steps) labels.push_back(step.label);
  return labels;
}

Json rows_axis(const std::vector<std::string>& labels) {
  return {{"field", "cell"},
          {"type", "nominal"},
          {"sort", labels},
          {"title", nullptr},
          {"axis",
           {{"ticks", false},
            {"domain", false},
            {"labelPadding", 8},
            {"grid", true},
            {"tickBand", "extent"}}}};
}

std::string span(const StepSide& side) {
  return "[" + human_range(side.low.value(), side.high.value(), "s") + "]";
}

double error_of(const ComparedStep& step) {
  if (step.cell != nullptr) return step.cell->error;
  return (step.predicted->time - step.measured->time) / step.measured->time;
}

bool inside(const ComparedStep& step) {
  if (step.cell != nullptr) return step.cell->inside;
  return step.measured->time >= step.predicted->low && step.measured->time <= step.predicted->high;
}

Json horizontal_interval_layers(const Json& encoding) {
  Json interval = encoding, start = encoding, end = encoding;
  for (Json* e : {&interval, &start, &end}) {
    e->erase("tooltip");
    e->erase("shape");
    (*e)["x"]["field"] = "low";
  }
  interval["x2"] = {{"field", "high"}};
  end["x"]["field"] = "high";
  const Json cap = {{"type", "tick"}, {"orient", "vertical"}, {"size", 8}, {"thickness", 2}};
  Json layers = Json::array();
  layers.push_back({{"mark", {{"type", "rule"}, {"strokeWidth", 2}}}, {"encoding", interval}});
  layers.push_back({{"mark", cap}, {"encoding", start}});
  layers.push_back({{"mark", cap}, {"encoding", end}});
  layers.push_back({{"mark", {{"type", "point"}, {"size", 70}}}, {"encoding", encoding}});
  return layers;
}

}  // namespace

void add_step_times(const Reports& reports, std::vector<Chart>& out) {
  const std::vector<ComparedStep> steps = compared_steps(reports);
  if (steps.empty()) return;
  Chart chart;
  chart.id = "step-times";
  const auto any = [&](auto side) {
    return std::any_of(steps.begin(), steps.end(), [&](const auto& s) { return bool(s.*side); });
  };
  chart.title = !any(&ComparedStep::predicted) ? "How long did a step take?"
                : !any(&ComparedStep::measured)
                    ? "How long will a step take?"
                    : "How long was a step predicted to take, and how long did it take?";
  chart.description =
      "One row a configuration, from left to right the time of a training step. The bars are "
      "intervals: of the prediction, and 95 % of the measured median. Where both are there they "
      "should touch.";
  chart.table = {"step-times",
                 "one training step",
                 {{"Configuration"},
                  {"Predicted", true},
                  {"Interval", true},
                  {"Measured", true},
                  {"Interval", true},
                  {"Error", true},
                  {"Measured is"}},
                 {}};
  Json data = Json::array();
  Range times;
  for (const ComparedStep& step : steps) {
    std::vector<std::string> row = {step.label, "", "", "", "", "", ""};
    const auto side = [&](const StepSide& value, const std::string& name, std::size_t column) {
      for (const Seconds t : {value.time, value.low, value.high}) times.include(1e3 * t.value());
      data.push_back({{"cell", step.label},
                      {"side", name},
                      {"ms", 1e3 * value.time.value()},
                      {"low", 1e3 * value.low.value()},
                      {"high", 1e3 * value.high.value()},
                      {"time", human(value.time.value(), "s")},
                      {"interval", span(value)}});
      row[column] = human(value.time.value(), "s");
      row[column + 1] = span(value);
    };
    if (step.predicted) side(*step.predicted, "predicted", 1);
    if (step.measured) side(*step.measured, "measured", 3);
    if (step.predicted && step.measured) {
      row[5] = human_percent(error_of(step), true);
      row[6] = inside(step) ? "inside the interval" : "outside";
    }
    chart.table.rows.push_back(std::move(row));
  }
  if (times.empty()) return;
  const std::vector<std::string> sides = {"predicted", "measured"};
  Json offset = {{"field", "side"}, {"sort", sides}};
  offset["scale"] = {{"paddingInner", 0.1}, {"paddingOuter", 0.25}};
  const Json encoding = {{"y", rows_axis(labels_of(steps))},
                         {"yOffset", offset},
                         {"x", log_axis(times, "ms", "time of a training step (ms)")},
                         {"color", nominal("side", "", sides)},
                         {"shape", nominal("side", "", sides)},
                         {"tooltip", tooltip({"cell", "side", "time", "interval"})}};
  const int height = 40 * static_cast<int>(steps.size());
  chart.spec = dumped(view(std::move(data), horizontal_interval_layers(encoding), height));
  out.push_back(std::move(chart));
}

void add_step_errors(const Reports& reports, std::vector<Chart>& out) {
  std::vector<ComparedStep> steps = compared_steps(reports);
  std::erase_if(steps, [](const ComparedStep& s) { return s.cell == nullptr; });
  if (steps.empty()) return;
  Chart chart;
  chart.id = "step-errors";
  chart.title = "By how much did the prediction miss?";
  chart.description =
      "Error = (predicted - measured) / measured: right of zero the prediction was too slow. Raw, "
      "and with the drift of the machine since probing divided out (by reference loops that know "
      "nothing of the workload). The grey band is the floor: how far two runs of the same thing "
      "differed.";
  chart.table = {"step-errors",
                 "one configuration",
                 {{"Configuration"},
                  {"Error, raw", true},
                  {"Error, drift-corrected", true},
                  {"Drift", true},
                  {"Same run twice", true},
                  {"Attempts", true},
                  {"Measured is"}},
                 {}};
  Json data = Json::array(), floor = Json::array();
  const std::vector<std::string> kinds = {"raw", "drift-corrected"};
  for (const ComparedStep& step : steps) {
    const ValidationCell& cell = *step.cell;
    for (const bool corrected : {false, true}) {
      const double error = corrected ? cell.corrected_error : cell.error;
      data.push_back({{"cell", step.label},
                      {"error", 100 * error},
                      {"kind", kinds[corrected ? 1 : 0]},
                      {"missed by", human_percent(error, true)},
                      {"interval", cell.inside ? "measured inside" : "measured outside"}});
    }
    const std::string twice = cell.aa_spread ? human_percent(*cell.aa_spread) : "";
    if (cell.aa_spread) {
      floor.push_back({{"cell", step.label},
                       {"low", -100 * *cell.aa_spread},
                       {"high", 100 * *cell.aa_spread},
                       {"same run twice", twice}});
    }
    chart.table.rows.push_back(
        {step.label, human_percent(cell.error, true), human_percent(cell.corrected_error, true),
         fmt::format("{:.3f}", cell.drift_ratio), twice, std::to_string(cell.attempts),
         cell.inside ? "inside the interval" : "outside"});
  }
  const Json y = rows_axis(labels_of(steps));
  const Json x = signed_axis("error", "error (%)");
  Json band_x = x;
  band_x["field"] = "low";
  Json layers = Json::array();
  layers.push_back({{"data", {{"values", floor}}},
                    {"mark", {{"type", "bar"}, {"height", 18}, {"color", "var(--line)"}}},
                    {"encoding",
                     {{"y", y},
                      {"x", band_x},
                      {"x2", {{"field", "high"}}},
                      {"tooltip", tooltip({"cell", "same run twice"})}}}});
  layers.push_back(zero_rule());
  layers.push_back({{"mark", {{"type", "point"}, {"size", 80}}},
                    {"encoding",
                     {{"y", y},
                      {"x", x},
                      {"color", nominal("kind", "", kinds)},
                      {"shape", nominal("kind", "", kinds)},
                      {"tooltip", tooltip({"cell", "kind", "missed by", "interval"})}}}});
  chart.spec =
      dumped(view(std::move(data), std::move(layers), 28 * static_cast<int>(steps.size())));
  out.push_back(std::move(chart));
}

namespace {

// The segments of one bar from left to right, as shares of `whole`.
void add_segments(const ComparedStep& step, const StepSide& side, const std::string& name,
                  Seconds whole, Json& data) {
  double at = 0;
  for (const PhaseField& phase : kPhases) {
    const Seconds seconds = side.phases.*phase.seconds;
    if (!(seconds.value() > 0)) continue;
    const double share = 100 * (seconds / whole);
    data.push_back({{"cell", step.label},
                    {"side", name},
                    {"phase", phase.text},
                    {"time", human(seconds.value(), "s")},
                    {"share", fmt::format("{:.1f} % of the measured mean step", share)},
                    {"from", at},
                    {"to", at + share}});
    at += share;
  }
}

Json phase_layers(const Json& y) {
  std::vector<std::string> names;
  for (const PhaseField& phase : kPhases) names.emplace_back(phase.text);
  Json x = {{"field", "from"},
            {"type", "quantitative"},
            {"title", "share of the measured mean step (%)"},
            {"axis", {{"tickCount", 8}}}};
  const Json tip = tooltip({"cell", "side", "phase", "time", "share"});
  Json color = nominal("phase", "", names);
  color["scale"]["range"] = Json::array();
  for (const int series : {5, 8, 6, 1, 4, 2, 3, 7}) {
    color["scale"]["range"].push_back(fmt::format("var(--series-{})", series));
  }
  Json layers = Json::array();
  layers.push_back(
      {{"mark", {{"type", "bar"}, {"height", 15}, {"stroke", "var(--ground)"}, {"strokeWidth", 1}}},
       {"encoding",
        {{"y", y}, {"x", x}, {"x2", {{"field", "to"}}}, {"color", color}, {"tooltip", tip}}}});
  layers.push_back({{"mark", {{"type", "rule"}, {"color", "var(--text)"}, {"strokeDash", {4, 3}}}},
                    {"encoding", {{"x", {{"datum", 100}, {"type", "quantitative"}}}}}});
  return layers;
}

}  // namespace

void add_step_phases(const Reports& reports, std::vector<Chart>& out) {
  const std::vector<ComparedStep> steps = compared_steps(reports);
  Chart chart;
  chart.id = "step-phases";
  chart.title = "Where does the time of a step go?";
  chart.description =
      "Predicted phases over measured phases, both as a share of the measured mean step: a "
      "predicted bar that ends left of 100 % was too fast. Phases are means over steps and ranks, "
      "so "
      "they add up to the mean step; the step time shown elsewhere is the median. Communication "
      "during backward is work of the same cores, taken out of backward.";
  chart.table = {
      "step-phases", "seconds of a step and rank, by phase", {{"Configuration"}, {"Side"}}, {}};
  for (const PhaseField& phase : kPhases) chart.table.columns.push_back({phase.text, true});
  chart.table.columns.push_back({"sum: mean step", true});
  chart.table.columns.push_back({"median step", true});
  Json data = Json::array();
  for (const ComparedStep& step : steps) {
    const StepSide& reference = step.measured ? *step.measured : *step.predicted;
    const Seconds sum = total(reference.phases);
    const Seconds whole = sum.value() > 0 ? sum : reference.time;
    if (!(whole.value() > 0)) continue;
    const auto side = [&](const std::optional<StepSide>& value, const std::string& name) {
      if (!value) return;
      add_segments(step, *value, name, whole, data);
      std::vector<std::string> row = {step.label, name};
      for (const PhaseField& phase : kPhases) {
        row.push_back(human((value->phases.*phase.seconds).value(), "s"));
      }
      row.push_back(human(total(value->phases).value(), "s"));
      row.push_back(human(value->time.value(), "s"));
      chart.table.rows.push_back(std::move(row));
    };
    side(step.predicted, "predicted");
    side(step.measured, "measured");
  }
  if (data.empty()) return;
  Json y = {{"field", "side"},
            {"type", "nominal"},
            {"sort", {"predicted", "measured"}},
            {"title", nullptr},
            {"axis", {{"ticks", false}, {"domain", false}}}};
  Json spec = facets(std::move(data),
                     {.field = "cell", .order = labels_of(steps), .height = 40, .room = 70},
                     phase_layers(y));
  spec["spacing"] = 10;
  out.push_back(std::move(chart));
  out.back().spec = dumped(spec);
}

}  // namespace plimsoll::reports
