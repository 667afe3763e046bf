// plimsoll train: what a workload and plan really do here, as a run report.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <limits>
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
  bool momentum_given = false, betas_given = false;
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

void check_machine(const std::string& path) {
  const Report report = reports::read_report(path);
  if (std::holds_alternative<MachineSubject>(report.subject)) return;
  throw usage_error("a " + kind_name(report.subject) + " report is not a machine report", path,
                    "give the file that `plimsoll probe --out` wrote");
}

// A flag that would do nothing is refused: the user means something else by it.
void check_update_flags(const Options& options, const Workload& workload) {
  const reports::Job& job = options.job;
  const std::string& optimizer =
      job.plan.optimizer.empty() ? workload.default_optimizer : job.plan.optimizer;
  if (options.momentum_given && optimizer != "sgd") {
    throw usage_error("a momentum with " + optimizer, "--momentum",
                      "use --beta1, or --optimizer sgd");
  }
  if (options.betas_given && optimizer == "sgd") {
    throw usage_error("betas with sgd", "--beta1, --beta2", "use --optimizer adam or adamw");
  }
  const UpdateRule& update = job.update;
  if ((update.schedule == "step") != (update.step_every > 0)) {
    throw usage_error("--lr-schedule " + update.schedule + " and --lr-step-every " +
                          std::to_string(update.step_every),
                      "--lr-schedule, --lr-step-every",
                      "give --lr-schedule step together with --lr-step-every STEPS");
  }
}

constexpr double kMost = std::numeric_limits<float>::max();

void add_update_flags(CLI::App& command, Options& options) {
  reports::Job& job = options.job;
  UpdateRule& update = job.update;
  const auto group = "Learning";
  const auto add = [&](CLI::Option* option) { option->group(group)->capture_default_str(); };
  command.add_option("--lr", job.learning_rate, "learning rate [the workload's own]")
      ->check(positive())
      ->group(group);
  CLI::Option* const momentum =
      command.add_option("--momentum", job.momentum, "of sgd, from 0 to below 1")
          ->check(below_one());
  CLI::Option* const beta1 =
      command.add_option("--beta1", update.beta1, "of adam and adamw")->check(below_one());
  CLI::Option* const beta2 =
      command.add_option("--beta2", update.beta2, "likewise")->check(below_one());
  for (CLI::Option* const option : {momentum, beta1, beta2}) add(option);
  momentum->each([&](const std::string&) { options.momentum_given = true; });
  for (CLI::Option* const beta : {beta1, beta2}) {
    beta->each([&](const std::string&) { options.betas_given = true; });
  }
  add(command
          .add_option("--weight-decay", update.weight_decay,
                      "of parameters with two dimensions or more")
          ->check(number(0, kMost)));
  add(command
          .add_option("--clip", update.clip_norm,
                      "most that the norm of all gradients may be; 0: any")
          ->check(number(0, kMost)));
  add(command.add_option("--lr-schedule", update.schedule, "constant, cosine or step"));
  add(command
          .add_option("--lr-warmup", update.warmup_steps,
                      "steps over which the learning rate rises")
          ->check(whole(0, kMostSteps)));
  add(command
          .add_option("--lr-step-every", update.step_every,
                      "steps after which the step schedule lowers it")
          ->check(whole(1, kMostSteps)));
  add(command.add_option("--lr-step-factor", update.step_factor, "by what")
          ->check(number(1e-9, 1)));
}

void add_checkpoint_flags(CLI::App& command, reports::Job& job) {
  const auto group = "Checkpoints";
  CLI::Option* const directory =
      command.add_option("--checkpoint", job.checkpoint, "directory for checkpoints")->group(group);
  command.add_option("--checkpoint-every", job.checkpoint_every, "steps between two")
      ->check(whole(1, kMostSteps))
      ->group(group)
      ->capture_default_str()
      ->needs(directory);
  command.add_option("--keep", job.keep, "the last so many")
      ->check(whole(1, kMostSteps))
      ->group(group)
      ->capture_default_str()
      ->needs(directory);
  command
      .add_option("--resume", job.resume,
                  "go on from the newest checkpoint of a directory, or from a file; --steps and "
                  "--epochs are still those of the whole training")
      ->group(group);
}

void add_observation_flags(CLI::App& command, reports::Job& job) {
  const auto group = "Observation";
  command.add_option("--eval-every", job.evaluate_every, "steps between looks at the test set")
      ->check(whole(1, kMostSteps))
      ->group(group);
  command.add_option("--trace", job.trace, "write a timeline for Perfetto here")->group(group);
  command.add_flag("--operators", job.operators, "time each operator after training")->group(group);
  command.add_option("--machine", job.machine, "a machine report: utilisation is of its peak")
      ->group(group);
}

void run(Options options, Context& context) {
  reports::Job& job = options.job;
  check(job.plan, static_cast<int>(sys::read_topology().usable.count()));
  // What is wrong with it is told here, and the child sees the very same.
  const auto resolved = reports::resolve_workload(job.plan.workload);
  job.workload_text = resolved.text;
  check_memory(job.plan, resolved.workload);
  check_update_flags(options, resolved.workload);
  if (job.steps > 0 && job.epochs > 0) {
    throw usage_error("both --steps and --epochs were given", "--steps, --epochs", "give one");
  }
  if (job.steps == 0 && job.epochs == 0) job.steps = 100;
  if (!job.prediction.empty()) check_prediction(job.prediction, job.plan);
  if (!job.machine.empty()) check_machine(job.machine);
  check_outputs(job.out, options.json);
  check_outputs(job.trace, "");
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
  command->add_option("--warmup", job.warmup_steps, "steps of this run that are not measured")
      ->check(whole(0, kMostSteps))
      ->capture_default_str();
  command->add_option("--seed", job.seed, "of weights and shuffling")
      ->check(any_whole())
      ->capture_default_str();
  command->add_flag("--evaluate", job.evaluate, "accuracy on the test set at the end");
  command->add_flag("--augment", job.augment, "move and mirror the images");
  command->add_option("--data-dir", job.data_dir,
                      "data: a folder of IDX files, a text file, or synthetic[:COUNT]");
  add_update_flags(*command, *options);
  add_checkpoint_flags(*command, job);
  add_observation_flags(*command, job);
  command->add_option("--prediction", job.prediction, "a prediction made before this run");
  command->add_option("--timeout", options->timeout_s, kTimeoutHelp)->check(positive());
  command->add_option("--out", job.out, "write the run report here");
  command->add_option("--json", options->json, "the same; - prints it and nothing else");
  command->footer(
      "examples:\n"
      "  plimsoll train --workload mlp --batch 256 --steps 200\n"
      "  plimsoll train --workload lenet --workers 2 --threads 1 --epochs 5 --evaluate\n"
      "  plimsoll train --workload mlp --json - | jq '.metrics[0].value'\n"
      "  plimsoll train --workload lenet --epochs 10 --checkpoint DIR --checkpoint-every 500\n"
      "  plimsoll train --workload lenet --epochs 10 --checkpoint DIR --resume DIR\n"
      "  plimsoll train --workload mlp --optimizer adamw --lr 1e-3 --lr-schedule cosine\n"
      "  plimsoll train --workload mlp --workers 2 --trace timeline.json");
  command->callback([options, &context] { run(*options, context); });
}

}  // namespace plimsoll::tools
