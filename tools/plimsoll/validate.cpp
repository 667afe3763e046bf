// plimsoll validate: predict first, then train, over a suite; or judge existing reports.

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/system/signals.hpp"
#include "core/system/topology.hpp"
#include "reports/format/format.hpp"
#include "reports/report.hpp"
#include "tools/plimsoll/flags.hpp"
#include "tools/plimsoll/folder.hpp"
#include "tools/plimsoll/progress.hpp"
#include "tools/plimsoll/subcommand.hpp"
#include "tools/plimsoll/training.hpp"
#include "tools/plimsoll/validating.hpp"

namespace plimsoll::tools {
namespace {

struct Options {
  std::vector<std::string> files;
  ValidationRequest request;
  std::string cells;  // regular expression over cell names
  std::string json;
  double tolerance_percent = -1, timeout_s = 0;
  bool quick = false, force = false;
};

Report suite(Options& options, const Context& context) {
  ValidationRequest& request = options.request;
  if (request.machine_path.empty()) {
    throw usage_error("no machine report and no files to judge", "plimsoll validate",
                      "give --machine machine.json (see plimsoll probe), or prediction and run "
                      "reports");
  }
  request.plans =
      chosen_cells(validation_suite(sys::read_topology().usable.count()), options.cells);
  request.argv = context.argv;
  if (options.quick) {
    request.blocks = 2;
    request.block_time = Seconds(1);
  }
  if (options.timeout_s > 0) request.timeout = Seconds(options.timeout_s);
  static_cast<void>(reports::read_report(request.machine_path));  // before the folder is touched
  prepare_folder(request.directory, "validation.json", options.force);
  sys::handle_interrupts();
  ProgressLine line;
  return validate_suite(request,
                        [&](const std::string& what, double done) { line.show(what, done); });
}

double median_error(const Report& report) {
  for (const Metric& metric : report.metrics) {
    if (metric.name == "validation.error_median" && metric.value) return *metric.value;
  }
  return 0;
}

void run(Options options, Context& context) {
  if (!options.files.empty() && !options.cells.empty()) {
    throw usage_error("--cells chooses from the suite, and files were given", "--cells",
                      "give files of the wanted cells only, or --machine and no files");
  }
  check_outputs("", options.json);
  const Report report =
      options.files.empty() ? suite(options, context) : validate_files(options.files, context.argv);
  if (!options.json.empty()) reports::write_text(reports::to_json(report), options.json);
  if (options.json != "-") std::fputs(reports::terminal(report).c_str(), stdout);
  context.exit_code = exit_code_of_validation(report);
  if (context.exit_code == ExitCode::good && options.tolerance_percent >= 0 &&
      median_error(report) * 100 > options.tolerance_percent) {
    std::fprintf(stderr, "plimsoll: the median error is above %g %%\n", options.tolerance_percent);
    context.exit_code = ExitCode::verdict_bad;
  }
}

}  // namespace

void add_validate(CLI::App& root, Context& context) {
  auto options = std::make_shared<Options>();
  options->request.directory = "plimsoll-validation";
  CLI::App* command = root.add_subcommand("validate", "were the predictions right?");
  command->add_option("files", options->files, "predictions and runs to judge");
  command->add_option("--machine", options->request.machine_path,
                      "machine report: predict and train the suite");
  command->add_option("--out", options->request.directory, "folder for all reports")
      ->capture_default_str();
  command->add_flag("--force", options->force, "replace a validation that the folder holds");
  command->add_option("--cells", options->cells, kCellsHelp);
  command->add_option("--blocks", options->request.blocks, "times each cell is trained")
      ->check(whole(1, 100))
      ->capture_default_str();
  command->add_option("--seed", options->request.seed, "of training and of the order")
      ->check(any_whole())
      ->capture_default_str();
  command->add_option("--data-dir", options->request.data_dir, "folder with the IDX files");
  command->add_flag("--quick", options->quick, "two short blocks a cell");
  command->add_option("--timeout", options->timeout_s, kTimeoutHelp)->check(positive());
  command
      ->add_option("--tolerance", options->tolerance_percent,
                   "exit 3 when the median |error| is above this, in percent")
      ->check(number(0, 1e9));
  command->add_option("--json", options->json, "the validation report; - prints it alone");
  command->footer(
      "examples:\n"
      "  plimsoll validate --machine machine.json --out validation --tolerance 15\n"
      "  plimsoll validate --machine machine.json --cells 'lenet-.*' --quick\n"
      "  plimsoll validate prediction.json run.json");
  command->callback([options, &context] { run(*options, context); });
}

}  // namespace plimsoll::tools
