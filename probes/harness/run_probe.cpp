// run_probe(): the main() of every probe binary, from its command line to its exit code.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/system/signals.hpp"
#include "core/system/topology.hpp"
#include "probes/harness/google_json.hpp"
#include "probes/harness/machine_report.hpp"
#include "probes/harness/measure.hpp"
#include "probes/harness/options.hpp"
#include "probes/probe.hpp"
#include "reports/catalogue.hpp"
#include "reports/report.hpp"

namespace plimsoll::probes {
namespace {

std::string description_of(const ProbeInfo& info) {
  reports::ProbeDescription description{.id = std::string(info.id),
                                        .question = std::string(info.question),
                                        .method = std::string(info.method),
                                        .metrics = {}};
  for (const MetricInfo& metric : info.metrics) {
    description.metrics.push_back({.name = std::string(metric.name),
                                   .unit = std::string(metric.unit),
                                   .meaning = std::string(metric.meaning),
                                   .at_least = metric.at_least,
                                   .at_most = metric.at_most});
  }
  return reports::to_json(description);
}

void look_at_machine(ProbeOptions& probe) {
  const sys::Topology topology = sys::read_topology();
  probe.cpus = sys::cpus_by_core(topology);
  const auto cores = static_cast<int>(std::ranges::count_if(topology.cores, [&](const auto& core) {
    return !sys::both(core.cpus, topology.usable).empty();
  }));
  probe.cores = std::clamp(cores, 1, std::max(1, sys::default_threads()));
}

std::vector<Case> chosen_cases(const HarnessOptions& options, const ProbeInfo& info,
                               CaseList list) {
  if (!options.probe.sizes.empty() && !info.takes_sizes) {
    throw usage_error("this probe has no working sets to size", "--size", "leave --size away");
  }
  std::vector<Case> cases = list(options.probe);
  std::vector<std::string> names;
  for (const Case& one : cases) {
    names.push_back(case_name(info.metrics.at(one.metric).name, one.params));
  }
  const std::vector<bool> kept = filter_names(names, options.filter);
  std::vector<Case> chosen;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (kept[i]) chosen.push_back(std::move(cases[i]));
  }
  if (chosen.empty()) {
    throw usage_error("no case matches '" + options.filter + "'", "--filter",
                      "see the names with --list");
  }
  return chosen;
}

void print_cases(const std::vector<Case>& cases, const ProbeInfo& info) {
  std::string text;
  for (const Case& one : cases) {
    text += case_name(info.metrics.at(one.metric).name, one.params);
    if (!one.skip.empty()) text += "  skipped: " + one.skip;
    text += '\n';
  }
  reports::write_text(text, "-");
}

ExitCode measure_and_write(const std::vector<Case>& cases, const ProbeInfo& info,
                           const HarnessOptions& options, std::vector<std::string> argv) {
  sys::handle_interrupts();
  const Measured measured = measure(cases, info, options);
  const Report report = machine_report(info, options, measured, std::move(argv));
  if (!options.out.empty()) reports::write_report(report, options.out);
  if (!options.benchmark_out.empty() || options.benchmark_stdout) {
    const std::string json = google_json(measured, report.tool, options);
    if (!options.benchmark_out.empty()) reports::write_text(json, options.benchmark_out);
    if (options.benchmark_stdout) reports::write_text(json, "-");
  }
  if (options.out != "-" && !options.benchmark_stdout) {
    reports::write_text(table_of(report), "-");
  }
  return exit_code_of(measured);
}

ExitCode act(const std::vector<std::string>& argv, const ProbeInfo& info, CaseList list) {
  HarnessOptions options = parse_options({argv.begin() + 1, argv.end()});
  if (options.action == Action::help) {
    reports::write_text(options_help(info), "-");
    return ExitCode::good;
  }
  if (options.action == Action::describe) {
    reports::write_text(description_of(info) + "\n", "-");
    return ExitCode::good;
  }
  look_at_machine(options.probe);
  const std::vector<Case> cases = chosen_cases(options, info, list);
  if (options.action == Action::list) {
    print_cases(cases, info);
    return ExitCode::good;
  }
  return measure_and_write(cases, info, options, argv);
}

}  // namespace

int run_probe(int argc, char** argv, const ProbeInfo& info, CaseList cases) {
  const std::string name = "plimsoll-probe-" + std::string(info.id);
  try {
    return static_cast<int>(act({argv, argv + argc}, info, cases));
  } catch (const reports::ClosedPipe& closed) {
    return static_cast<int>(closed.exit_code());
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: unexpected: %s\n", name.c_str(), error.what());
    return static_cast<int>(ExitCode::could_not_run);
  }
}

}  // namespace plimsoll::probes
