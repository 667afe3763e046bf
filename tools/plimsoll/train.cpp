// plimsoll train: what a workload and plan really do here, as a run report.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "core/system/topology.hpp"
#include "core/workloads/workloads.hpp"
#include "reports/format/format.hpp"
#include "reports/report.hpp"
#include "tools/plimsoll/plan_flags.hpp"
#include "tools/plimsoll/scratch.hpp"
#include "tools/plimsoll/subcommand.hpp"
#include "tools/plimsoll/training.hpp"

namespace plimsoll::tools {
namespace {

struct Options {
  reports::Job job;
  std::string json;
  double timeout_s = 0;
};

void run(Options options, Context& context) {
  reports::Job& job = options.job;
  check(job.plan, static_cast<int>(sys::read_topology().usable.count()));
  static_cast<void>(workload_named(job.plan.workload));  // fails here, not in the child
  if (job.steps < 0 || job.epochs < 0 || job.warmup_steps < 0) {
    throw usage_error("steps, epochs and warm-up steps cannot be negative",
                      "--steps, --epochs, --warmup", "use 1 or more");
  }
  if (job.steps > 0 && job.epochs > 0) {
    throw usage_error("both --steps and --epochs were given", "--steps, --epochs", "give one");
  }
  if (job.steps == 0 && job.epochs == 0) job.steps = 100;
  job.argv = context.argv;

  const ScratchDirectory scratch;
  const std::string wanted = job.out;
  job.out = scratch.path() + "/run.json";
  const Seconds limit = options.timeout_s > 0 ? Seconds(options.timeout_s) : time_limit(job);
  context.exit_code = train(job, true, limit);
  if (!std::filesystem::exists(job.out)) return;  // a diverged or stopped run may have its report
  const std::string text = reports::read_text(job.out);
  if (!wanted.empty()) reports::write_text(text, wanted);
  if (!options.json.empty()) reports::write_text(text, options.json);
  if (options.json != "-" && wanted != "-") {
    std::fputs(reports::terminal(reports::from_json(text, job.out)).c_str(), stdout);
  }
}

}  // namespace

void add_train(CLI::App& root, Context& context) {
  auto options = std::make_shared<Options>();
  reports::Job& job = options->job;
  CLI::App* command = root.add_subcommand("train", "what a workload and plan really do here");
  add_plan_flags(*command, job.plan);
  command->add_option("--steps", job.steps, "measured steps [100, unless --epochs]");
  command->add_option("--epochs", job.epochs, "whole passes over the training set");
  command->add_option("--warmup", job.warmup_steps, "steps before measuring")
      ->capture_default_str();
  command->add_option("--seed", job.seed, "of weights and shuffling")->capture_default_str();
  command->add_option("--lr", job.learning_rate, "learning rate [the workload's own]");
  command->add_option("--momentum", job.momentum, "of SGD")->capture_default_str();
  command->add_flag("--evaluate", job.evaluate, "accuracy on the test set at the end");
  command->add_option("--data-dir", job.data_dir, "folder with the data set's IDX files");
  command->add_option("--prediction", job.prediction, "a prediction made before this run");
  command->add_option("--timeout", options->timeout_s, kTimeoutHelp)->check(CLI::PositiveNumber);
  command->add_option("--out", job.out, "write the run report here");
  command->add_option("--json", options->json, "the same; - prints it and nothing else");
  command->footer(
      "examples:\n"
      "  plimsoll train --workload mlp --batch 256 --steps 200\n"
      "  plimsoll train --workload lenet --workers 2 --threads 1 --epochs 5 --evaluate\n"
      "  plimsoll train --workload mlp --json - | jq .metrics[0].value");
  command->callback([options, &context] { run(*options, context); });
}

}  // namespace plimsoll::tools
