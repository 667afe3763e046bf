// What was measured: the metrics of a machine by suite, the metrics and phases of a run.

#include <fmt/format.h>

#include <algorithm>

#include "reports/format/summary.hpp"
#include "reports/format/units.hpp"
#include "reports/json_fields.hpp"

namespace plimsoll::reports {
namespace {

// A sweep of more values than this is shown as groups with their range; --csv has every value.
constexpr std::size_t kMostRows = 12;

std::string text_of(const std::string& key, const ParamValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    return key.ends_with("bytes") ? human(static_cast<double>(*whole), "B")
                                  : fmt::format("{}", *whole);
  }
  return fmt::format("{}", std::get<double>(value));
}

std::string words_of(const Params& params, bool swept) {
  std::string out;
  for (const auto& [key, value] : params) {
    if (swept && !std::holds_alternative<std::string>(value)) continue;
    const std::string name = key.ends_with("_bytes") ? key.substr(0, key.size() - 6) : key;
    out += (out.empty() ? "" : ", ") + name + " " + text_of(key, value);
  }
  return out;
}

std::string value_of(const Metric& m) {
  if (!m.value) return "-";
  if (!m.interval) return human(*m.value, m.unit);
  return human_interval(*m.value, m.interval->low, m.interval->high, m.unit);
}

std::string note_of(const Metric& m) {
  if (m.status != Status::ok) return fmt::format("{}: {}", word(m.status), m.reason);
  if (!m.value || !m.ceiling || m.ceiling->value == 0) return "";
  return fmt::format("{} of {}", human_percent(*m.value / m.ceiling->value), m.ceiling->source);
}

using Metrics = std::vector<const Metric*>;

// Groups by `key`, in the order of first appearance.
template <class Key>
std::vector<std::pair<std::string, Metrics>> grouped(const Metrics& metrics, Key key) {
  std::vector<std::pair<std::string, Metrics>> groups;
  for (const Metric* m : metrics) {
    const std::string name = key(*m);
    auto at = std::find_if(groups.begin(), groups.end(),
                           [&](const auto& group) { return group.first == name; });
    if (at == groups.end()) at = groups.insert(at, {name, {}});
    at->second.push_back(m);
  }
  return groups;
}

void add_rows(const std::string& name, const Metrics& metrics, TextTable& table) {
  if (metrics.size() <= kMostRows) {
    for (const Metric* m : metrics) {
      table.rows.push_back({name, words_of(m->params, false), value_of(*m), note_of(*m)});
    }
    return;
  }
  for (const auto& [params, group] :
       grouped(metrics, [](const Metric& m) { return words_of(m.params, true); })) {
    std::vector<double> values;
    std::size_t numberless = 0, implausible = 0;
    for (const Metric* m : group) {
      m->value ? values.push_back(*m->value) : static_cast<void>(++numberless);
      implausible += m->status == Status::implausible ? 1 : 0;
    }
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    std::string note = fmt::format("{} values", values.size());
    if (implausible > 0) note += fmt::format(", {} implausible", implausible);
    if (numberless > 0) note += fmt::format(", {} without a number", numberless);
    table.rows.push_back(
        {name, params, values.empty() ? "-" : human_range(*low, *high, group.front()->unit), note});
  }
}

Section section_of(const std::string& title, const Metrics& metrics) {
  Section section{.title = title,
                  .lines = {},
                  .table = {.columns = {{"metric"}, {"at"}, {"value", true}, {"note"}}}};
  for (const auto& [name, group] : grouped(metrics, [](const Metric& m) { return m.name; })) {
    add_rows(name, group, section.table);
  }
  return section;
}

Metrics all_of(const Report& report) {
  Metrics metrics;
  for (const Metric& m : report.metrics) metrics.push_back(&m);
  return metrics;
}

Section probe_section(const MachineSubject& subject) {
  Section section{.title = "probes", .lines = {}, .table = {}};
  std::size_t good = 0;
  for (const ProbeOutcome& probe : subject.probes) {
    if (probe.status == Status::ok) {
      ++good;
      continue;
    }
    if (section.table.columns.empty()) {
      section.table.columns = {{"probe"}, {"status"}, {"reason"}};
    }
    section.table.rows.push_back({probe.id, std::string(word(probe.status)), probe.reason});
  }
  section.lines.push_back(fmt::format("level {}: {} of {} ran well{}", subject.level, good,
                                      subject.probes.size(),
                                      subject.partial ? "; stopped early: partial" : ""));
  for (const std::string& missing : subject.missing) {
    section.lines.push_back("not measured, but the model needs it: " + missing);
  }
  return section;
}

// Of many ranks, the mean and the slowest say more than all of them. Phases are means over steps,
// so they add up to the mean step, not to its median.
Section phase_section(const Run& run) {
  Section section{
      .title = "phases, seconds a step",
      .lines = {},
      .table = {.columns = {{"phase"}, {"mean of ranks", true}, {"slowest rank", true}}}};
  const auto add = [&](const std::string& name, const auto& time_of) {
    Seconds sum, slowest;
    for (const RankPhases& rank : run.ranks) {
      sum += time_of(rank.phases);
      slowest = std::max(slowest, time_of(rank.phases));
    }
    const auto count = static_cast<double>(run.ranks.size());
    section.table.rows.push_back(
        {name, human(sum.value() / count, "s"), human(slowest.value(), "s")});
  };
  for (const NamedPhase& phase : kNamedPhases) {
    add(phase.name, [&](const Phases& phases) { return phases.*phase.time; });
  }
  add("all: the mean step", total);
  return section;
}

}  // namespace

std::vector<Section> metric_sections(const Report& report) {
  if (report.metrics.empty()) return {};
  return {section_of("metrics", all_of(report))};
}

std::vector<Section> machine_sections(const Report& report, const MachineSubject& subject) {
  std::vector<Section> sections = {probe_section(subject)};
  for (const auto& [suite, metrics] : grouped(
           all_of(report), [](const Metric& m) { return m.name.substr(0, m.name.find('.')); })) {
    sections.push_back(section_of(suite, metrics));
  }
  return sections;
}

namespace {

std::string learning_words(const Run& run) {
  std::string words = fmt::format("learning rate {}", run.learning_rate);
  if (!run.optimizer.empty() && run.optimizer != "sgd") words = run.optimizer + ", " + words;
  const UpdateRule usual;
  const UpdateRule& update = run.update.value_or(usual);
  if (run.optimizer.empty() || run.optimizer == "sgd") {
    words += fmt::format(", momentum {}", run.momentum);
  }
  if (update.weight_decay > 0) words += fmt::format(", weight decay {}", update.weight_decay);
  if (update.clip_norm > 0) words += fmt::format(", gradients clipped at {}", update.clip_norm);
  if (update.schedule != usual.schedule) words += ", schedule " + update.schedule;
  if (update.warmup_steps > 0) {
    words += fmt::format(", rate rising over {} steps", update.warmup_steps);
  }
  return words;
}

}  // namespace

std::vector<Section> run_sections(const Report& report, const Run& run) {
  Section what{.title = run.workload.name, .lines = {plan_words(run.plan)}, .table = {}};
  what.lines.push_back(fmt::format("{} steps after {} of warm-up, {}, {}", run.steps,
                                   run.warmup_steps, run.backend, learning_words(run)));
  if (run.resumed) {
    what.lines.push_back(
        fmt::format("resumed at step {} from {}", run.resumed->step, run.resumed->path));
  }
  if (run.prediction) {
    what.lines.push_back(
        fmt::format("predicted before: {} ({})", run.prediction->path, run.prediction->created));
  }
  if (run.partial) what.lines.emplace_back("stopped early: partial");
  std::vector<Section> sections = {what};
  for (Section& section : metric_sections(report)) sections.push_back(std::move(section));
  if (!run.ranks.empty()) sections.push_back(phase_section(run));
  return sections;
}

}  // namespace plimsoll::reports
