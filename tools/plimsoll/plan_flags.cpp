// The plan flags, bound to a Plan. Sizes take K, M, G as binary multiples, as in nccl-tests.

#include "tools/plimsoll/plan_flags.hpp"

#include <map>
#include <string>

#include "core/error.hpp"
#include "tools/plimsoll/flags.hpp"

namespace plimsoll::tools {
namespace {

// Far above what anybody trains: beyond these, counts of bytes would no longer be exact.
constexpr std::int64_t kMostSamples = std::int64_t{1} << 36, kMostOfAKind = 65536;

Bytes parse_size(const std::string& text) {
  const std::map<char, double> multiples = {{'K', 1024.0}, {'M', 1048576.0}, {'G', 1073741824.0}};
  std::string digits = text;
  double multiple = 1;
  if (!digits.empty() && multiples.contains(digits.back())) {
    multiple = multiples.at(digits.back());
    digits.pop_back();
  }
  const bool whole = !digits.empty() && digits.size() <= 15 &&
                     digits.find_first_not_of("0123456789") == std::string::npos;
  if (!whole || std::stoll(digits) == 0) {
    throw usage_error("'" + text + "' is not a size", "--bucket",
                      "write a whole number of bytes, or with K, M or G (25M is 25 MiB)");
  }
  return Bytes(static_cast<double>(std::stoll(digits)) * multiple);
}

}  // namespace

void add_plan_flags(CLI::App& command, Plan& plan) {
  const auto group = "Plan (the same words in predict and train)";
  const auto add = [&](CLI::Option* option) { option->group(group)->capture_default_str(); };
  add(command.add_option("--workload", plan.workload,
                         "network: a name (see plimsoll list) with options, or a JSON file "
                         "(plimsoll schema workload)"));
  add(command.add_option("--batch", plan.batch, "global batch: samples a step, all workers")
          ->check(whole(1, kMostSamples)));
  command
      .add_option_function<std::string>(
          "--dtype", [&plan](const std::string& text) { plan.dtype = dtype_from(text); },
          "f32 or bf16 [f32]")
      ->group(group);
  add(command.add_option("--device", plan.device, "cpu"));
  add(command.add_option("--workers", plan.workers, "devices that share the batch")
          ->check(whole(1, kMostOfAKind)));
  add(command.add_option("--threads", plan.threads, "cores of each worker")
          ->check(whole(1, kMostOfAKind)));
  add(command.add_option("--comm", plan.comm, "how workers talk: threads"));
  add(command.add_option("--sync", plan.sync, "how gradients meet: all_reduce"));
  add(command.add_option("--algorithm", plan.algorithm, "native or ring"));
  command
      .add_option_function<std::string>(
          "--bucket", [&plan](const std::string& text) { plan.bucket = parse_size(text); },
          "gradient bucket, K/M/G binary [25M]")
      ->group(group);
  command
      .add_option_function<std::string>(
          "--overlap",
          [&plan](const std::string& text) {
            if (text != "on" && text != "off") {
              throw usage_error("'" + text + "' is not possible here", "--overlap",
                                "use on or off");
            }
            plan.overlap = text == "on";
          },
          "reduce while backward runs: on or off [on]")
      ->group(group);
  add(command.add_option("--execution", plan.execution, "eager, async or graph"));
  add(command.add_option("--loader-workers", plan.loader_workers, "loading threads a worker")
          ->check(whole(0, kMostOfAKind)));
  add(command.add_option("--prefetch", plan.prefetch, "batches held ready")
          ->check(whole(0, kMostOfAKind)));
  add(command
          .add_option("--accumulate", plan.accumulate,
                      "micro-batches a step, whose gradients add up")
          ->check(whole(1, kMostOfAKind)));
  command.add_option("--optimizer", plan.optimizer, "sgd, adam or adamw [the workload's own]")
      ->group(group);
}

}  // namespace plimsoll::tools
