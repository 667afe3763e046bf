// The front command: a table of subcommands. It starts probes and the trainer as processes and
// never links them.

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "reports/report.hpp"
#include "tools/plimsoll/subcommand.hpp"

namespace plimsoll::tools {
namespace {

constexpr void (*kSubcommands[])(CLI::App&, Context&) = {
    add_run,     add_doctor, add_list,     add_explain, add_probe,
    add_predict, add_train,  add_validate, add_report,  add_schema,
};

constexpr const char* kExamples =
    "plimsoll draws the line that says how deep a training machine may be loaded.\n"
    "\n"
    "  plimsoll run                                  measure, predict, train, judge: the whole "
    "loop\n"
    "  plimsoll doctor                               what is this machine, what would spoil "
    "results\n"
    "  plimsoll probe memory --quick --out m.json    measure one part of it\n"
    "  plimsoll predict --machine m.json --workload lenet --batch 256 --workers 2\n"
    "  plimsoll train --workload lenet --epochs 5    see what really happens\n"
    "\n"
    "next: plimsoll run --quick (2 minutes); plimsoll --help lists every subcommand\n";

// Wrong usage in the form of every other error.
std::string refusal(const CLI::App* app, const CLI::Error& error) {
  std::string command = "plimsoll";
  for (const CLI::App* subcommand : app->get_subcommands()) command += " " + subcommand->get_name();
  const std::string fix = "see " + command + " --help";
  return std::string("plimsoll: ") + usage_error(error.what(), command, fix).what() + "\n";
}

int run(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error to report, not a death
  CLI::App app("Measures a training machine, predicts how fast it can train, and checks it.",
               "plimsoll");
  app.set_version_flag("--version", "plimsoll " PLIMSOLL_VERSION);
  app.require_subcommand(0, 1);
  app.failure_message(refusal);
  Context context;
  context.argv.assign(argv, argv + argc);
  for (const auto add : kSubcommands) add(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    reports::finish_stdout();  // --help and --version print too
    return code == 0 ? 0 : static_cast<int>(ExitCode::wrong_usage);
  }
  if (app.get_subcommands().empty()) std::fputs(kExamples, stdout);
  reports::finish_stdout();
  return static_cast<int>(context.exit_code);
}

}  // namespace
}  // namespace plimsoll::tools

int main(int argc, char** argv) {
  try {
    return plimsoll::tools::run(argc, argv);
  } catch (const plimsoll::reports::ClosedPipe& error) {
    return static_cast<int>(error.exit_code());  // `| head` wants no message
  } catch (const plimsoll::Error& error) {
    std::fprintf(stderr, "plimsoll: %s\n", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plimsoll: unexpected: %s\n  fix:   please report this\n", error.what());
    return static_cast<int>(plimsoll::ExitCode::could_not_run);
  }
}
