// Children, their reports, and what is left of them when they fail.

#include "tools/plimsoll/probing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/statistics.hpp"
#include "core/system/clock.hpp"
#include "core/system/process.hpp"
#include "core/system/signals.hpp"
#include "reports/report.hpp"
#include "tools/plimsoll/envelope.hpp"
#include "tools/plimsoll/programs.hpp"
#include "tools/plimsoll/scratch.hpp"

namespace plimsoll::tools {
namespace {

constexpr std::string_view kSuites[] = {"cpu",  "memory", "os",         "storage", "network",
                                        "pcie", "nvlink", "collective", "kernel"};

// What a probe usually takes, and what it may take before it counts as hung.
struct Pace {
  std::string_view level;
  Seconds usual, timeout;
};
constexpr Pace kPaces[] = {{"quick", Seconds(3.5), Seconds(90)},
                           {"default", Seconds(13), Seconds(300)},
                           {"full", Seconds(70), Seconds(1200)}};

const Pace& pace_of(const std::string& level) {
  for (const Pace& pace : kPaces) {
    if (pace.level == level) return pace;
  }
  throw usage_error("unknown level '" + level + "'", "--level", "give quick, default or full");
}

std::string suite_of(const std::string& id) { return id.substr(0, id.find('.')); }

std::string program_of(const std::string& id) { return program("probes/plimsoll-probe-" + id); }

std::vector<std::string> arguments_of(const ProbeRequest& request, const std::string& id) {
  std::vector<std::string> arguments = {program_of(id), "--level", request.level, "--seed",
                                        std::to_string(request.seed)};
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {flag, value});
  };
  add("--filter", request.filter);
  add("--size", request.sizes);
  add("--dir", request.directory);
  return arguments;
}

sys::ChildResult list_cases(const ProbeRequest& request, const std::string& id) {
  sys::ChildOptions child{.argv = arguments_of(request, id)};
  child.argv.emplace_back("--list");
  child.capture_out = child.capture_err = true;
  child.timeout = Seconds(30);
  return sys::run_child(child);
}

// With a filter or sizes, only the probes to which they mean something.
std::vector<std::string> matching_probes(const ProbeRequest& request) {
  std::vector<std::string> chosen = select_probes(request.selection);
  if (request.filter.empty() && request.sizes.empty()) return chosen;
  std::string refusal;
  std::erase_if(chosen, [&](const std::string& id) {
    const sys::ChildResult listed = list_cases(request, id);
    if (listed.exit_code == static_cast<int>(ExitCode::wrong_usage)) refusal = listed.err;
    return listed.exit_code == static_cast<int>(ExitCode::wrong_usage);
  });
  if (!chosen.empty()) return chosen;
  throw usage_error(
      "no probe can do that; the last one said: " + refusal.substr(0, refusal.find('\n')),
      "--filter or --size", "see the cases with --dry-run, the probes with list");
}

std::string last_line(const std::string& text) {
  std::istringstream lines(text);
  std::string line, last;
  while (std::getline(lines, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

// Why there is no report of it.
std::string reason_of(const sys::ChildResult& result, Seconds timeout) {
  if (result.timed_out) return fmt::format("did not end within {:g} s", timeout.value());
  if (result.signal != 0) return fmt::format("was ended by signal {}", result.signal);
  return fmt::format("ended with exit code {} and no report: {}", result.exit_code,
                     last_line(result.err));
}

void record(Report& machine, ProbeOutcome outcome) {
  std::get<MachineSubject>(machine.subject).probes.push_back(std::move(outcome));
}

void run_one(Report& machine, const ProbeRequest& request, const std::string& id,
             std::optional<Seconds> share) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path() + "/report.json";
  const Seconds timeout = pace_of(request.level).timeout + share.value_or(Seconds(0));
  try {
    sys::ChildOptions child{.argv = arguments_of(request, id)};
    child.argv.insert(child.argv.end(), {"--out", path});
    if (share)
      child.argv.insert(child.argv.end(), {"--max-time", fmt::format("{}", share->value())});
    child.capture_out = child.capture_err = true;
    child.timeout = timeout;
    const sys::ChildResult result = sys::run_child(child);
    if (std::filesystem::exists(path)) {
      merge_probe(machine, reports::read_report(path));
    } else {
      const bool stopped = result.interrupted;
      record(machine, {.id = id,
                       .status = stopped ? Status::skipped : Status::failed,
                       .reason = stopped ? "interrupted" : reason_of(result, timeout),
                       .duration = result.duration});
    }
  } catch (const Error& error) {
    record(machine, {.id = id,
                     .status = Status::failed,
                     .reason = error.problem() + " (" + error.where() + "); " + error.fix(),
                     .duration = {}});
  }
}

// What the model needs of a machine; it says what it cannot tell without.
constexpr std::string_view kNeeded[] = {
    "kernel.matmul.rate",       "kernel.convolution.rate",    "kernel.elementwise.bandwidth",
    "kernel.pooling.bandwidth", "kernel.dispatch.time",       "collective.all_reduce.time",
    "memory.stream_bandwidth",  "reference.compute_f32.time", "reference.memory.time"};

std::vector<std::string> missing_in(const Report& machine) {
  std::vector<std::string> missing;
  for (const std::string_view name : kNeeded) {
    const bool found = std::ranges::any_of(machine.metrics, [&](const Metric& metric) {
      return metric.name == name && metric.value.has_value();
    });
    if (!found) missing.emplace_back(name);
  }
  return missing;
}

// Only times of the same work on the same CPUs belong together.
void join_samples(Metric& into, const Metric& more, std::vector<Finding>& findings) {
  if (more.samples.empty()) return;
  if (into.samples.empty()) into.source = more.source;
  if (into.source != more.source) {
    findings.push_back({.id = "probe.reference",
                        .severity = Severity::warning,
                        .message = more.name + " was taken as '" + more.source +
                                   "' by one probe and as '" + into.source + "' by others",
                        .effect = "its samples are left out: drift is told by the others alone",
                        .fix = "keep CPUs and memory of this process the same while probes run"});
    return;
  }
  into.samples.insert(into.samples.end(), more.samples.begin(), more.samples.end());
  into.value = median(into.samples);
  if (into.samples.size() > 1) into.interval = median_interval(into.samples);
  into.summary = summary_fields(summarize(into.samples));
  into.status = Status::ok;
  into.reason.clear();
}

}  // namespace

const std::vector<std::string>& known_probes() {
  static const std::vector<std::string> kProbes = [] {
    std::vector<std::string> probes;
    std::istringstream listed(PLIMSOLL_PROBES);
    for (std::string id; std::getline(listed, id, ' ');) probes.push_back(id);
    return probes;
  }();
  return kProbes;
}

std::vector<std::string> select_probes(const std::vector<std::string>& selection) {
  if (selection.empty()) return known_probes();
  std::set<std::string> wanted;
  for (const std::string& word : selection) {
    const std::size_t before = wanted.size();
    for (const std::string& id : known_probes()) {
      if (word == "all" || word == id || word == suite_of(id)) wanted.insert(id);
    }
    if (wanted.size() > before || wanted.contains(word)) continue;
    if (std::ranges::any_of(wanted, [&](const auto& id) { return suite_of(id) == word; })) continue;
    if (std::ranges::find(kSuites, word) != std::end(kSuites)) {
      throw Error("this build has no probe of suite '" + word + "'", "plimsoll probe",
                  "see which parts were found with: plimsoll doctor", ExitCode::not_applicable);
    }
    throw usage_error("unknown suite or probe '" + word + "'", "plimsoll probe",
                      fmt::format("suites: {}, all; probes: {}", fmt::join(kSuites, ", "),
                                  fmt::join(known_probes(), ", ")));
  }
  std::vector<std::string> chosen;
  std::ranges::copy_if(known_probes(), std::back_inserter(chosen),
                       [&](const std::string& id) { return wanted.contains(id); });
  return chosen;
}

void merge_probe(Report& machine, const Report& probe) {
  for (const Metric& metric : probe.metrics) {
    const auto same = std::ranges::find_if(machine.metrics, [&](const Metric& other) {
      return other.name == metric.name && other.params == metric.params;
    });
    if (metric.name.starts_with("reference.") && same != machine.metrics.end()) {
      join_samples(*same, metric, machine.findings);
    } else {
      machine.metrics.push_back(metric);
    }
  }
  machine.environment.libraries.insert(probe.environment.libraries.begin(),
                                       probe.environment.libraries.end());
  machine.findings.insert(machine.findings.end(), probe.findings.begin(), probe.findings.end());
  auto& subject = std::get<MachineSubject>(machine.subject);
  const auto& part = std::get<MachineSubject>(probe.subject);
  subject.probes.insert(subject.probes.end(), part.probes.begin(), part.probes.end());
  subject.partial = subject.partial || part.partial;
  for (const Indicator& indicator : probe.quality.indicators) {
    const auto same = std::ranges::find(machine.quality.indicators, indicator.id, &Indicator::id);
    if (same == machine.quality.indicators.end()) {
      machine.quality.indicators.push_back(indicator);
    } else if (indicator.value > same->value) {
      *same = indicator;
    }
  }
  constexpr std::string_view kWorse[] = {"good", "noisy", "invalid"};
  const auto rank = [&](const std::string& verdict) {
    return std::ranges::find(kWorse, verdict) - std::begin(kWorse);
  };
  if (rank(probe.quality.verdict) > rank(machine.quality.verdict)) {
    machine.quality.verdict = probe.quality.verdict;
  }
}

Report run_probes(const ProbeRequest& request, const sys::Facts& facts,
                  const ProbeProgress& progress) {
  const Pace& pace = pace_of(request.level);
  const std::vector<std::string> probes = matching_probes(request);
  const Seconds begin = sys::now();
  Report machine = envelope(MachineSubject{.level = request.level}, request.argv, request.seed,
                            facts.environment);
  machine.findings = sys::diagnose(facts);
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const std::string& id = probes[i];
    const auto left = static_cast<double>(probes.size() - i);
    progress(fmt::format("{} ({} of {})", id, i + 1, probes.size()),
             static_cast<double>(i) / static_cast<double>(probes.size()));
    std::optional<Seconds> share;
    if (request.max_time) share = (begin + *request.max_time - sys::now()) / left;
    std::string skip;
    if (sys::interrupted()) skip = "interrupted";
    if (request.dry_run) skip = fmt::format("dry_run: takes about {:g} s", pace.usual.value());
    if (share && *share <= Seconds(0)) skip = "time_limit: --max-time ended before it began";
    if (skip.empty()) {
      run_one(machine, request, id, share);
    } else {
      record(machine, {.id = id, .status = Status::skipped, .reason = skip, .duration = {}});
      std::get<MachineSubject>(machine.subject).partial = true;
    }
  }
  auto& subject = std::get<MachineSubject>(machine.subject);
  subject.missing = missing_in(machine);
  subject.partial = subject.partial || sys::interrupted();
  return machine;
}

ExitCode exit_code_of(const Report& machine) {
  if (sys::interrupted()) return ExitCode::interrupted;
  const auto& outcomes = std::get<MachineSubject>(machine.subject).probes;
  const auto count = [&](Status status) {
    return std::ranges::count(outcomes, status, &ProbeOutcome::status);
  };
  const auto failed = count(Status::failed), skipped = count(Status::skipped);
  const auto all = std::ssize(outcomes);
  // A probe some of whose cases failed still measured something; reference loops are no result.
  const bool measured = std::ranges::any_of(machine.metrics, [](const Metric& metric) {
    return metric.value.has_value() && !metric.name.starts_with("reference.");
  });
  if (failed > 0)
    return failed + skipped == all && !measured ? ExitCode::could_not_run : ExitCode::partial;
  if (skipped == all) return ExitCode::not_applicable;
  return skipped > 0 && std::get<MachineSubject>(machine.subject).partial ? ExitCode::partial
                                                                          : ExitCode::good;
}

std::string probe_plan(const ProbeRequest& request) {
  const Pace& pace = pace_of(request.level);
  const std::vector<std::string> probes = matching_probes(request);
  std::string text;
  for (const std::string& id : probes) {
    const sys::ChildResult listed = list_cases(request, id);
    if (probes.size() == 1) text += listed.out;
    text += fmt::format("{:<28} {:>4} cases, about {:g} s\n", id,
                        std::ranges::count(listed.out, '\n'), pace.usual.value());
    if (listed.exit_code != 0) text += last_line(listed.err) + "\n";
  }
  const Seconds total = pace.usual * static_cast<double>(probes.size());
  text += fmt::format("{} probes, about {:.0f} s\n", probes.size(),
                      std::min(total, request.max_time.value_or(total)).value());
  return text;
}

}  // namespace plimsoll::tools
