// plimsoll train: what a workload and plan really do here, as a run report.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "core/system/buffer.hpp"
#include "core/system/signals.hpp"
#include "core/system/topology.hpp"
#include "models/memory/footprint.hpp"
#include "reports/format/format.hpp"
#include "reports/report.hpp"
#include "reports/workload_file.hpp"
#include "tools/plimsoll/flags.hpp"
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

constexpr std::int64_t kMostSteps = 1'000'000'000, kMostEpochs = 1'000'000;

// Refused now rather than killed by the kernel later.
void check_memory(const Plan& plan, const Workload& workload) {
  const std::int64_t share = shares(plan.batch, plan.workers).front();
  const Bytes need = models::total(models::footprint(workload, plan, share)) * plan.workers;
  const sys::MemoryRoom room = sys::memory_room();
  if (need <= room.available) return;
  throw Error("the plan needs " + sys::format_bytes(need) + ", there are " +
                  sys::format_bytes(room.available),
              room.bound_by, "lower --batch, --prefetch or --workers");
}

void check_prediction(const std::string& path, const Plan& plan) {
  const Report report = reports::read_report(path);
  const auto* const prediction = std::get_if<Prediction>(&report.subject);
  if (prediction == nullptr) {
    throw usage_error("a " + kind_name(report.subject) + " report is not a prediction", path,
                      "give the file that `plimsoll predict --out` wrote");
  }
  if (prediction->plan != plan) {
    throw usage_error("it predicts another plan than this one", path,
                      "give train the plan flags that predict was given");
  }
}

void run(Options options, Context& context) {
  reports::Job& job = options.job;
  check(job.plan, static_cast<int>(sys::read_topology().usable.count()));
  // What is wrong with it is told here, and the child sees the very same.
  const auto resolved = reports::resolve_workload(job.plan.workload);
  job.workload_text = resolved.text;
  check_memory(job.plan, resolved.workload);
  if (job.steps > 0 && job.epochs > 0) {
    throw usage_error("both --steps and --epochs were given", "--steps, --epochs", "give one");
  }
  if (job.steps == 0 && job.epochs == 0) job.steps = 100;
  if (!job.prediction.empty()) check_prediction(job.prediction, job.plan);
  check_outputs(job.out, options.json);
  job.argv = context.argv;
  sys::handle_interrupts();  // passed on: the trainer writes what it has

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
  command->add_option("--steps", job.steps, "measured steps [100, unless --epochs]")
      ->check(whole(1, kMostSteps));
  command->add_option("--epochs", job.epochs, "whole passes over the training set")
      ->check(whole(1, kMostEpochs));
  command->add_option("--warmup", job.warmup_steps, "steps before measuring")
      ->check(whole(0, kMostSteps))
      ->capture_default_str();
  command->add_option("--seed", job.seed, "of weights and shuffling")
      ->check(any_whole())
      ->capture_default_str();
  command->add_option("--lr", job.learning_rate, "learning rate [the workload's own]")
      ->check(positive());
  command->add_option("--momentum", job.momentum, "of SGD, from 0 to below 1")
      ->check(below_one())
      ->capture_default_str();
  command->add_flag("--evaluate", job.evaluate, "accuracy on the test set at the end");
  command->add_flag("--augment", job.augment, "move and mirror the images");
  command->add_option("--data-dir", job.data_dir,
                      "data: a folder of IDX files, a text file, or synthetic[:COUNT]");
  command->add_option("--prediction", job.prediction, "a prediction made before this run");
  command->add_option("--timeout", options->timeout_s, kTimeoutHelp)->check(positive());
  command->add_option("--out", job.out, "write the run report here");
  command->add_option("--json", options->json, "the same; - prints it and nothing else");
  command->footer(
      "examples:\n"
      "  plimsoll train --workload mlp --batch 256 --steps 200\n"
      "  plimsoll train --workload lenet --workers 2 --threads 1 --epochs 5 --evaluate\n"
      "  plimsoll train --workload mlp --json - | jq '.metrics[0].value'");
  command->callback([options, &context] { run(*options, context); });
}

}  // namespace plimsoll::tools
