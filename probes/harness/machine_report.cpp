// Judges the probe as a whole from its cases, and puts everything into the envelope.

#include "probes/harness/machine_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/system/provenance.hpp"
#include "probes/harness/case_run.hpp"
#include "reports/report.hpp"

namespace plimsoll::probes {
namespace {

std::ptrdiff_t count_of(const Measured& measured, Status status) {
  return std::ranges::count(measured.cases, status, &Metric::status);
}

const Metric* first_of(const Measured& measured, Status status) {
  const auto found = std::ranges::find(measured.cases, status, &Metric::status);
  return found == measured.cases.end() ? nullptr : &*found;
}

bool has_type(const Metric& metric, std::string_view type) {
  return metric.status == Status::failed && metric.reason.starts_with(type);
}

std::vector<Finding> findings_of(const ProbeInfo& info, const Measured& measured) {
  std::vector<Finding> findings = measured.findings;
  if (measured.out_of_time) {
    findings.push_back(
        {.id = "probe.max_time",
         .severity = Severity::info,
         .message = fmt::format("{}: --max-time ended the measurement early", info.id),
         .effect = "fewer samples: wider intervals, some cases not measured",
         .fix = "raise --max-time"});
  }
  const auto out_of_budget = std::ranges::count_if(measured.cases, [](const Metric& metric) {
    return metric.summary.contains("stopped_time_out");
  });
  if (out_of_budget > 0 && !measured.out_of_time && !measured.interrupted) {
    findings.push_back(
        {.id = "probe.time_out",
         .severity = Severity::info,
         .message = fmt::format("{}: {} of {} cases ran out of time before their noise was small",
                                info.id, out_of_budget, measured.cases.size()),
         .effect = "their intervals are wider than asked for",
         .fix = "use a higher --level, or measure on an idle machine"});
  }
  return findings;
}

Quality quality_of(const Measured& measured) {
  std::vector<double> noises;
  for (const Metric& metric : measured.cases) {
    if (const auto noise = metric.summary.find("noise"); noise != metric.summary.end()) {
      noises.push_back(noise->second);
    }
  }
  Quality quality;
  if (noises.empty()) return quality;
  // Half width of the median's interval: ten percent in a typical case is no figure. A few cases
  // far worse are normal with few samples, for then the interval is their whole range.
  constexpr double kNoisy = 0.10, kFarWorse = 0.50;
  const double typical = median(noises), bad = quantile(noises, 0.9);
  quality.indicators.push_back(
      {.id = "noise.median_ratio", .value = typical, .ok = typical <= kNoisy});
  quality.indicators.push_back({.id = "noise.p90_ratio", .value = bad, .ok = bad <= kFarWorse});
  if (typical > kNoisy) quality.verdict = "noisy";
  return quality;
}

}  // namespace

ProbeOutcome outcome_of(const ProbeInfo& info, const Measured& measured) {
  ProbeOutcome outcome{.id = std::string(info.id), .reason = {}, .duration = measured.duration};
  const auto all = static_cast<std::ptrdiff_t>(measured.cases.size());
  const auto say = [&](Status status) {
    outcome.status = status;
    outcome.reason = fmt::format("{} of {} cases; first: {}", count_of(measured, status), all,
                                 first_of(measured, status)->reason);
  };
  if (count_of(measured, Status::failed) > 0) {
    say(Status::failed);
  } else if (count_of(measured, Status::skipped) == all) {
    say(Status::skipped);
  } else if (count_of(measured, Status::implausible) > 0) {
    say(Status::implausible);
  }
  return outcome;
}

Report machine_report(const ProbeInfo& info, const HarnessOptions& options,
                      const Measured& measured, std::vector<std::string> argv) {
  Report report;
  report.id = reports::new_id();
  report.created = reports::now_rfc3339();
  report.tool = sys::describe_tool();
  report.command = sys::describe_command(std::move(argv), static_cast<std::int64_t>(options.seed));
  sys::Libraries libraries = {{"google-benchmark", PLIMSOLL_BENCHMARK_VERSION}};
  if (info.libraries != nullptr) libraries.merge(info.libraries());
  report.environment = sys::describe_environment(sys::fs_root(), libraries);
  report.quality = quality_of(measured);
  MachineSubject subject;
  subject.level = level_name(options.probe.level);
  subject.probes.push_back(outcome_of(info, measured));
  subject.partial = measured.interrupted || measured.out_of_time;
  report.subject = subject;
  report.metrics = measured.cases;
  report.metrics.insert(report.metrics.end(), measured.references.begin(),
                        measured.references.end());
  report.findings = findings_of(info, measured);
  if (info.conclude != nullptr) info.conclude(report);
  return report;
}

ExitCode exit_code_of(const Measured& measured) {
  if (measured.interrupted) return ExitCode::interrupted;
  const auto failed = count_of(measured, Status::failed);
  const auto skipped = count_of(measured, Status::skipped);
  const auto all = static_cast<std::ptrdiff_t>(measured.cases.size());
  const bool wrong = std::ranges::any_of(measured.cases, [](const Metric& metric) {
    return has_type(metric, "wrong_answer") || has_type(metric, "unusable_time");
  });
  if (wrong) return ExitCode::verdict_bad;
  if (failed > 0) return failed + skipped == all ? ExitCode::could_not_run : ExitCode::partial;
  if (skipped == all) return measured.out_of_time ? ExitCode::timed_out : ExitCode::not_applicable;
  return ExitCode::good;
}

std::string table_of(const Report& report) {
  std::size_t width = 0;
  for (const Metric& metric : report.metrics) {
    width = std::max(width, case_name(metric.name, metric.params).size());
  }
  std::string text;
  for (const Metric& metric : report.metrics) {
    text += fmt::format("{:<{}}  ", case_name(metric.name, metric.params), width);
    if (metric.value) {
      text += fmt::format("{:>11.5g} {:<6}", *metric.value, metric.unit);
      if (metric.interval) {
        text += fmt::format(" [{:.4g} .. {:.4g}]", metric.interval->low, metric.interval->high);
      }
      text += fmt::format("  n={}", metric.samples.size());
    }
    if (metric.status == Status::failed) text += "  FAILED ";
    if (metric.status == Status::skipped) text += "  skipped ";
    if (metric.status == Status::implausible) text += "  IMPLAUSIBLE ";
    text += metric.reason + "\n";
  }
  for (const Finding& finding : report.findings) {
    text += fmt::format("{}: {}\n", finding.id, finding.message);
  }
  return text;
}

}  // namespace plimsoll::probes
