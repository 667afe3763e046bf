// plimsoll schema: the JSON Schema of a kind of report, on stdout.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "reports/report.hpp"
#include "tools/plimsoll/subcommand.hpp"

namespace plimsoll::tools {

void add_schema(CLI::App& root, Context&) {
  auto kind = std::make_shared<std::string>("report");
  CLI::App* command = root.add_subcommand(
      "schema", "the JSON Schema (2020-12) of a kind of report, or of a workload");
  std::string known;
  for (const std::string& name : reports::schema_kinds()) {
    known += (known.empty() ? "" : ", ") + name;
  }
  command->add_option("kind", *kind, known + ", or workload: a network of your own")
      ->capture_default_str();
  command->footer(
      "examples:\n"
      "  plimsoll schema machine > machine.schema.json\n"
      "  plimsoll schema workload\n"
      "  plimsoll schema report | jq '.[\"$defs\"].metric'");
  command->callback([kind] { reports::write_text(reports::schema_text(*kind), "-"); });
}

}  // namespace plimsoll::tools
