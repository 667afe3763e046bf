// The verdict of a set of reports: of the judged predictions where there are any, else of what was
// predicted, run or measured.

#include "reports/page/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/statistics.hpp"
#include "reports/format/html_text.hpp"
#include "reports/format/units.hpp"
#include "reports/page/spec.hpp"
#include "reports/page/steps.hpp"

namespace plimsoll::reports {
namespace {

struct Judged {
  std::vector<double> raw, corrected, signed_raw;
  std::size_t inside = 0;
  std::string worst;
  double worst_error = 0;
};

Judged judged(const std::vector<ComparedStep>& steps) {
  Judged out;
  for (const ComparedStep& step : steps) {
    if (!step.predicted || !step.measured || !(step.measured->time.value() > 0)) continue;
    const double error = step.cell != nullptr
                             ? step.cell->error
                             : (step.predicted->time - step.measured->time) / step.measured->time;
    if (!std::isfinite(error)) continue;
    const bool inside = step.cell != nullptr ? step.cell->inside
                                             : step.measured->time >= step.predicted->low &&
                                                   step.measured->time <= step.predicted->high;
    out.raw.push_back(std::fabs(error));
    out.signed_raw.push_back(error);
    if (step.cell != nullptr) out.corrected.push_back(std::fabs(step.cell->corrected_error));
    out.inside += inside ? 1 : 0;
    if (std::fabs(error) >= std::fabs(out.worst_error)) {
      out.worst_error = error;
      out.worst = step.label;
    }
  }
  return out;
}

std::string share_inside(const Judged& judge) {
  return fmt::format("{} of {}", judge.inside, judge.raw.size());
}

void add_judged(const Judged& judge, Verdict& out) {
  const double middle = median(judge.raw);
  if (judge.raw.size() == 1) {
    out.sentence = fmt::format(
        "The prediction for {} missed the measured step time by {}; the "
        "measurement lies {} the predicted interval.",
        judge.worst, human_percent(judge.signed_raw.front(), true),
        judge.inside == 1 ? "inside" : "outside");
  } else {
    out.sentence = fmt::format(
        "Over {} configurations the predicted step time missed the measured one by {} in the "
        "median "
        "and by {} at worst ({}); {} measurements lie inside the predicted interval.",
        judge.raw.size(), human_percent(middle), human_percent(judge.worst_error, true),
        judge.worst, share_inside(judge));
  }
  out.figures.push_back(
      {"median |error|", human_percent(middle),
       judge.corrected.empty()
           ? "raw"
           : "raw; " + human_percent(median(judge.corrected)) + " drift-corrected"});
  if (judge.raw.size() > 1) {
    out.figures.push_back(
        {"90th percentile", human_percent(quantile(judge.raw, 0.9)), "of |error|, raw"});
    out.figures.push_back({"worst", human_percent(judge.worst_error, true), judge.worst});
    out.figures.push_back(
        {"bias", human_percent(median(judge.signed_raw), true), "median of the signed error"});
  }
  out.figures.push_back({"inside the interval", share_inside(judge), "measured step times"});
}

// The largest value of a metric, with what it was.
void add_best(const Report& machine, const std::string& metric_name, const std::string& title,
              const std::string& key, const std::string& wanted, Verdict& out) {
  const Metric* best = nullptr;
  for (const Metric* metric : measured(machine, metric_name)) {
    if (!key.empty() && text_param(*metric, key) != wanted) continue;
    if (best == nullptr || *metric->value > *best->value) best = metric;
  }
  if (best == nullptr) return;
  const auto cores = number_param(*best, "cores");
  std::string note;
  if (cores) note = counted(static_cast<std::size_t>(*cores), "core");
  const std::string isa = text_param(*best, "instruction_set");
  if (!isa.empty()) note += (note.empty() ? "" : ", ") + isa;
  out.figures.push_back({title, human(*best->value, best->unit), note});
}

void add_at_largest(const Report& machine, const std::string& metric_name, const std::string& title,
                    const std::string& key, const std::string& wanted, Verdict& out) {
  const Metric* found = nullptr;
  double largest = 0;
  for (const Metric* metric : measured(machine, metric_name)) {
    if (text_param(*metric, key) != wanted) continue;
    const double size = number_param(*metric, "working_set_bytes").value_or(0);
    const bool same_but_faster = found != nullptr && size == largest &&
                                 metric->better == Better::higher && *metric->value > *found->value;
    if (size > largest || same_but_faster) {
      largest = size;
      found = metric;
    }
  }
  if (found == nullptr) return;
  out.figures.push_back({title, human(*found->value, found->unit), "at " + human(largest, "B")});
}

void add_machine(const Report& machine, Verdict& out) {
  const Environment& env = machine.environment;
  if (out.sentence.empty()) {
    const auto& subject = std::get<MachineSubject>(machine.subject);
    std::size_t ok = 0;
    for (const ProbeOutcome& probe : subject.probes) ok += probe.status == Status::ok ? 1 : 0;
    out.sentence = fmt::format("{}, {} and {} of memory: {} of {} succeeded{}.",
                               env.cpu_model.empty() ? "This machine" : env.cpu_model,
                               counted(static_cast<std::size_t>(std::max(0, env.cores)), "core"),
                               human(static_cast<double>(env.memory_bytes), "B"), ok,
                               counted(subject.probes.size(), "probe"),
                               subject.partial ? "; the report is partial" : "");
  }
  add_best(machine, "cpu.flops.rate", "peak f32", "dtype", "f32", out);
  add_best(machine, "cpu.flops.rate", "peak bf16", "dtype", "bf16", out);
  add_at_largest(machine, "memory.stream_bandwidth", "memory triad", "kernel", "triad", out);
  add_at_largest(machine, "memory.load_latency", "memory latency", "page", "4k", out);
}

void add_single(const ComparedStep& step, Verdict& out) {
  const bool predicted = step.predicted.has_value();
  const StepSide& side = predicted ? *step.predicted : *step.measured;
  out.sentence =
      fmt::format("{}: a training step {} {}, between {} and {}.", step.label,
                  predicted ? "is predicted to take" : "took", human(side.time.value(), "s"),
                  human(side.low.value(), "s"), human(side.high.value(), "s"));
}

void add_one_sided(const std::vector<ComparedStep>& steps, Verdict& out) {
  if (steps.size() == 1) return add_single(steps.front(), out);
  const auto time = [](const ComparedStep& step) {
    return step.predicted ? step.predicted->time : step.measured->time;
  };
  const auto [fast, slow] = std::minmax_element(
      steps.begin(), steps.end(), [&](const auto& a, const auto& b) { return time(a) < time(b); });
  out.sentence =
      fmt::format("{}, from {} a step ({}) to {} ({}); none has both a prediction and a run.",
                  counted(steps.size(), "configuration"), human(time(*fast).value(), "s"),
                  fast->label, human(time(*slow).value(), "s"), slow->label);
}

std::string worst_quality(const Reports& reports) {
  std::string worst = "good";
  for (const Report& report : reports) {
    if (report.quality.verdict == "invalid") return "invalid";
    if (report.quality.verdict == "noisy") worst = "noisy";
  }
  return worst;
}

}  // namespace

Verdict verdict_of(const Reports& reports) {
  Verdict out;
  out.quality = worst_quality(reports);
  const std::vector<ComparedStep> steps = compared_steps(reports);
  const Judged judge = judged(steps);
  if (!judge.raw.empty()) {
    add_judged(judge, out);
  } else if (!steps.empty()) {
    add_one_sided(steps, out);
  }
  for (const Report& report : reports) {
    if (!std::holds_alternative<MachineSubject>(report.subject)) continue;
    add_machine(report, out);
    break;
  }
  if (out.sentence.empty()) {
    out.sentence = counted(reports.size(), "report") + "; no step time and no probe among them.";
  }
  return out;
}

std::string title_of(const Reports& reports) {
  std::set<std::string> hosts;
  bool judged_here = false, machine = false;
  for (const Report& report : reports) {
    hosts.insert(report.environment.hostname);
    judged_here = judged_here || std::holds_alternative<Validation>(report.subject);
    machine = machine || std::holds_alternative<MachineSubject>(report.subject);
  }
  const std::string what = judged_here ? "Predicted and measured training"
                           : machine   ? "What this machine can do"
                                       : "Training report";
  return what + ", " + (hosts.size() == 1 ? *hosts.begin() : counted(hosts.size(), "machine"));
}

}  // namespace plimsoll::reports
