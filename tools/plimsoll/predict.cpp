// plimsoll predict: how fast a workload and plan can train on a measured machine, and what binds.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "reports/format/format.hpp"
#include "reports/report.hpp"
#include "tools/plimsoll/flags.hpp"
#include "tools/plimsoll/plan_flags.hpp"
#include "tools/plimsoll/predicting.hpp"
#include "tools/plimsoll/subcommand.hpp"

namespace plimsoll::tools {
namespace {

struct Options {
  Plan plan;
  std::string machine, out, json;
  std::vector<std::string> what_if;
};

void run(const Options& options, Context& context) {
  check_outputs(options.out, options.json);
  models::WhatIf what_if;
  for (const std::string& assignment : options.what_if) models::set(what_if, assignment);
  const Report report = make_prediction(options.machine, options.plan, context.argv, what_if);
  if (!options.out.empty()) reports::write_report(report, options.out);
  if (!options.json.empty()) reports::write_text(reports::to_json(report), options.json);
  if (options.json != "-" && options.out != "-") {
    std::fputs(reports::terminal(report).c_str(), stdout);
  }
}

}  // namespace

void add_predict(CLI::App& root, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      root.add_subcommand("predict", "how fast can it train on this machine, and what binds?");
  add_plan_flags(*command, options->plan);
  command->add_option("--machine", options->machine, "machine report (see plimsoll probe)")
      ->required();
  command->add_option("--what-if", options->what_if,
                      "scale what the machine can do: compute, memory, all_reduce, dispatch, "
                      "loader, as NAME=xFACTOR");
  command->add_option("--out", options->out, "write the prediction report here");
  command->add_option("--json", options->json, "the same; - prints it and nothing else");
  command->footer(
      "examples:\n"
      "  plimsoll predict --machine machine.json --workload lenet --batch 256 --workers 2\n"
      "  plimsoll predict --machine machine.json --workload mlp --what-if memory=x2\n"
      "  plimsoll predict --machine machine.json --workload mlp --json - | jq .subject.limits");
  command->callback([options, &context] { run(*options, context); });
}

}  // namespace plimsoll::tools
