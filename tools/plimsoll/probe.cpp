// plimsoll probe: what this machine can do, measured; one machine report of all probes.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "core/system/signals.hpp"
#include "reports/format/format.hpp"
#include "reports/report.hpp"
#include "tools/plimsoll/flags.hpp"
#include "tools/plimsoll/probing.hpp"
#include "tools/plimsoll/progress.hpp"
#include "tools/plimsoll/subcommand.hpp"

namespace plimsoll::tools {
namespace {

struct Options {
  ProbeRequest request;
  bool quick = false, full = false;
  std::string out, json;
  double max_time = 0;
};

void choose_level(const Options& options, ProbeRequest& request) {
  const bool given = request.level != "default";
  if (options.quick + options.full + given > 1) {
    throw usage_error("more than one of --quick, --full and --level was given", "plimsoll probe",
                      "give one");
  }
  if (options.quick) request.level = "quick";
  if (options.full) request.level = "full";
}

void run(const Options& options, Context& context) {
  ProbeRequest request = options.request;
  choose_level(options, request);
  if (options.max_time > 0) request.max_time = Seconds(options.max_time);
  request.argv = context.argv;
  if (request.dry_run && !(options.out.empty() && options.json.empty())) {
    throw usage_error("--dry-run measures nothing and has no report to write", "--out, --json",
                      "leave them out, or --dry-run");
  }
  check_outputs(options.out, options.json);
  if (request.dry_run) {
    reports::write_text(probe_plan(request), "-");
    return;
  }
  sys::handle_interrupts();
  ProgressLine line;
  const Report machine =
      run_probes(request, sys::gather_facts(),
                 [&](const std::string& what, double done) { line.show(what, done); });
  line.clear();
  if (!options.out.empty()) reports::write_report(machine, options.out);
  if (!options.json.empty()) reports::write_report(machine, options.json);
  if (options.json != "-" && options.out != "-") {
    reports::write_text(reports::terminal(machine), "-");
  }
  context.exit_code = exit_code_of(machine);
}

}  // namespace

void add_probe(CLI::App& root, Context& context) {
  auto options = std::make_shared<Options>();
  ProbeRequest& request = options->request;
  CLI::App* command = root.add_subcommand("probe", "what this machine can do: a machine report");
  command->add_option("what", request.selection,
                      "suites (cpu memory os storage network collective pcie nvlink kernel all) or "
                      "ids of probes [all]");
  command->add_flag("--quick", options->quick, "less than a minute for all probes");
  command->add_flag("--full", options->full, "every case, many samples");
  command->add_option("--level", request.level, "quick, default or full")
      ->check(CLI::IsMember({"quick", "default", "full"}))
      ->capture_default_str();
  command->add_option("--filter", request.filter,
                      "only cases whose name (metric/key:value/...) matches; a leading - negates");
  command->add_option("--size", request.sizes,
                      "working sets of memory probes, e.g. 1M,4M (K, M, G are binary)");
  command->add_option("--out", options->out, "write the machine report to a file");
  command->add_option("--json", options->json, "the same; - prints only that");
  command
      ->add_option("--max-time", options->max_time,
                   "seconds for all probes together: fewer samples, wider intervals")
      ->check(positive());
  command->add_option("--dir", request.directory,
                      "where storage probes may make their file: the file system that they measure "
                      "[$TMPDIR, /var/tmp or /tmp: the first that is not in memory]");
  command->add_option("--seed", request.seed, "of the order of measurements")
      ->check(any_whole())
      ->capture_default_str();
  command->add_flag("--dry-run", request.dry_run, "what would be measured and how long it takes");
  command->footer(
      "examples:\n"
      "  plimsoll probe --quick --out machine.json\n"
      "  plimsoll probe memory --filter 'cores:1.*kernel:triad'\n"
      "  plimsoll probe memory.load_latency --size 32K,1M,64M --json -\n"
      "exit codes: 5 when some probes failed (the report says which), 1 when all did, 77 when none "
      "applies here");
  command->callback([options, &context] { run(*options, context); });
}

}  // namespace plimsoll::tools
