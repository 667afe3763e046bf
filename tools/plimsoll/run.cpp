// plimsoll run: the whole loop on this machine: doctor, probe, fit, predict, train, judge, report.

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/system/doctor.hpp"
#include "core/system/signals.hpp"
#include "core/system/topology.hpp"
#include "reports/format/format.hpp"
#include "reports/format/html.hpp"
#include "reports/report.hpp"
#include "tools/plimsoll/flags.hpp"
#include "tools/plimsoll/folder.hpp"
#include "tools/plimsoll/probing.hpp"
#include "tools/plimsoll/progress.hpp"
#include "tools/plimsoll/subcommand.hpp"
#include "tools/plimsoll/training.hpp"
#include "tools/plimsoll/validating.hpp"

namespace plimsoll::tools {
namespace {

namespace fs = std::filesystem;

struct Options {
  bool quick = false, full = false, force = false, dry_run = false;
  std::string directory;  // empty: a new one named by the time
  std::string cells;      // regular expression over cell names
  std::string data_dir;
  int blocks = 0;        // 0: by level
  double timeout_s = 0;  // of one training; 0: from its prediction
  std::int64_t seed = 1;
};

std::string level_of(const Options& options) {
  return options.full ? "full" : options.quick ? "quick" : "default";
}

std::string new_directory_name() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[64];
  std::strftime(text, sizeof text, "plimsoll-results/%Y%m%dT%H%M%SZ", &utc);
  return text;
}

void say_findings(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::info) continue;
    std::fprintf(stderr, "  %s  %s: %s\n", finding.severity == Severity::error ? "FAIL" : "warn",
                 finding.id.c_str(), finding.message.c_str());
  }
}

void write_page(const std::string& directory, const std::vector<Report>& reports) {
  reports::write_text(reports::html_page(reports), directory + "/report.html");
}

// The reports of a finished or interrupted loop, read back from their files.
std::vector<Report> collect(const std::string& directory) {
  std::vector<Report> reports;
  for (const char* name : {"machine.json", "validation.json"}) {
    if (fs::exists(directory + "/" + name)) {
      reports.push_back(reports::read_report(directory + "/" + name));
    }
  }
  for (const char* folder : {"predictions", "runs"}) {
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(directory + "/" + folder)) {
      if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) reports.push_back(reports::read_report(path));
  }
  return reports;
}

ProbeRequest probe_request(const Options& options, const std::string& directory,
                           const Context& context) {
  ProbeRequest request;
  request.level = level_of(options);
  request.directory = directory;
  request.argv = context.argv;
  return request;
}

ValidationRequest validation_request(const Options& options, const std::string& directory,
                                     const std::vector<Plan>& plans, const Context& context) {
  ValidationRequest request;
  request.machine_path = directory + "/machine.json";
  request.plans = plans;
  request.directory = directory;
  request.blocks = options.blocks > 0 ? options.blocks : options.quick ? 2 : 3;
  request.max_attempts = options.quick ? 2 : 3;
  request.block_time = Seconds(options.quick ? 0.8 : options.full ? 8.0 : 3.0);
  if (options.timeout_s > 0) request.timeout = Seconds(options.timeout_s);
  request.seed = options.seed;
  request.data_dir = options.data_dir;
  request.argv = context.argv;
  return request;
}

// Data that is missing or broken shows now, not after the measurements.
ExitCode check_data(const std::vector<Plan>& plans, const std::string& data_dir) {
  std::set<std::string> checked;
  for (const Plan& plan : plans) {
    if (!checked.insert(plan.workload).second) continue;
    const ExitCode code = check_training({.plan = plan, .steps = 1, .data_dir = data_dir});
    if (code != ExitCode::good) return code;
  }
  return ExitCode::good;
}

void run(Options options, Context& context) {
  if (options.quick && options.full) {
    throw usage_error("both --quick and --full were given", "plimsoll run", "give one");
  }
  const std::vector<Plan> plans =
      chosen_cells(validation_suite(sys::read_topology().usable.count()), options.cells);
  const std::string directory =
      options.directory.empty() ? new_directory_name() : options.directory;
  ProbeRequest probes = probe_request(options, directory, context);
  ValidationRequest validation = validation_request(options, directory, plans, context);
  if (options.dry_run) {
    std::fputs(probe_plan(probes).c_str(), stdout);
    std::printf("would write to %s\n%zu cells x %d blocks of %.1f s each\n", directory.c_str(),
                plans.size(), validation.blocks, validation.block_time.value());
    return;
  }
  prepare_folder(directory, "machine.json", options.force);
  sys::handle_interrupts();
  const ExitCode ready = check_data(plans, options.data_dir);
  if (ready != ExitCode::good && !sys::interrupted()) {
    context.exit_code = ready;  // the trainer has said why
    return;
  }
  ProgressLine line;

  std::fprintf(stderr, "plimsoll run (%s): writing to %s\n", level_of(options).c_str(),
               directory.c_str());
  std::fputs("1/4 doctor\n", stderr);
  const sys::Facts facts = sys::gather_facts();
  say_findings(sys::diagnose(facts));

  std::fputs("2/4 probes: what this machine can do\n", stderr);
  const Report machine = run_probes(
      probes, facts, [&](const std::string& what, double done) { line.show(what, done); });
  line.clear();
  reports::write_report(machine, validation.machine_path);
  const bool probed_whole = !std::get<MachineSubject>(machine.subject).partial;

  if (probed_whole) {
    std::fputs("3/4 predictions, then training\n", stderr);
    const Report verdict = validate_suite(
        validation, [&](const std::string& what, double done) { line.show(what, done); });
    line.clear();
    std::fputs(reports::terminal(machine).c_str(), stdout);
    std::fputs(reports::terminal(verdict).c_str(), stdout);
    context.exit_code = exit_code_of_validation(verdict);
    if (context.exit_code == ExitCode::good) context.exit_code = exit_code_of(machine);
  }
  std::fputs("4/4 report\n", stderr);
  write_page(directory, collect(directory));
  std::printf("\nreports: %s\npage:    %s/report.html\n", directory.c_str(), directory.c_str());
  if (sys::interrupted()) context.exit_code = ExitCode::interrupted;
}

}  // namespace

void add_run(CLI::App& root, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      root.add_subcommand("run", "the whole loop: probe, predict, train, judge, report");
  command->add_flag("--quick", options->quick, "less than two minutes, wider intervals");
  command->add_flag("--full", options->full, "every probe case, longer training");
  command->add_option("--out", options->directory,
                      "folder for all reports [plimsoll-results/<time>]");
  command->add_flag("--force", options->force, "replace a run that the folder holds");
  command->add_option("--cells", options->cells, kCellsHelp);
  command->add_option("--blocks", options->blocks, "times each cell is trained [3, quick 2]")
      ->check(whole(1, 100));
  command->add_option("--seed", options->seed, "of training and of the order")
      ->check(any_whole())
      ->capture_default_str();
  command->add_option("--timeout", options->timeout_s, kTimeoutHelp)->check(positive());
  command->add_option("--data-dir", options->data_dir, "folder with the IDX files");
  command->add_flag("--dry-run", options->dry_run, "say what would be done");
  command->footer(
      "examples:\n"
      "  plimsoll run --quick\n"
      "  plimsoll run --out results/mybox --cells 'mlp-.*'");
  command->callback([options, &context] { run(*options, context); });
}

}  // namespace plimsoll::tools
