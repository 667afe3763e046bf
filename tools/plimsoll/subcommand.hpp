// What every subcommand of the front command looks like: one file, one line in the table of
// main.cpp. The function adds its CLI11 subcommand to `root` and sets a callback that does the work
// and stores the exit code. Results go to stdout, everything else to stderr.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace plimsoll::tools {

struct Context {
  std::vector<std::string> argv;  // the user's command line, for reports
  ExitCode exit_code = ExitCode::good;
};

void add_run(CLI::App& root, Context& context);
void add_doctor(CLI::App& root, Context& context);
void add_list(CLI::App& root, Context& context);
void add_explain(CLI::App& root, Context& context);
void add_probe(CLI::App& root, Context& context);
void add_predict(CLI::App& root, Context& context);
void add_train(CLI::App& root, Context& context);
void add_validate(CLI::App& root, Context& context);
void add_report(CLI::App& root, Context& context);
void add_schema(CLI::App& root, Context& context);

}  // namespace plimsoll::tools
