// plimsoll list: every probe, metric, workload and finding, one a line.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "reports/report.hpp"
#include "tools/plimsoll/catalogue.hpp"
#include "tools/plimsoll/subcommand.hpp"

namespace plimsoll::tools {
namespace {

struct Options {
  std::vector<std::string> kinds;
  std::string json;
};

constexpr const char* kKinds[] = {"probe", "metric", "workload", "finding"};

std::string table(const std::vector<reports::Entry>& entries) {
  std::string text;
  for (const char* kind : kKinds) {
    std::size_t width = 0, count = 0;
    for (const reports::Entry& entry : entries) {
      if (entry.kind != kind) continue;
      width = std::max(width, entry.id.size());
      ++count;
    }
    if (count == 0) continue;
    text += fmt::format("{}{}s\n", text.empty() ? "" : "\n", kind);
    for (const reports::Entry& entry : entries) {
      if (entry.kind != kind) continue;
      const std::string unit = entry.unit.empty() ? "" : " [" + entry.unit + "]";
      text += fmt::format("  {:<{}}  {}{}\n", entry.id, width, entry.meaning, unit);
    }
  }
  return text + "\nmore about one of them: plimsoll explain ID\n";
}

void run(const Options& options) {
  std::vector<reports::Entry> entries = catalogue();
  std::erase_if(entries, [&](const reports::Entry& entry) {
    return !options.kinds.empty() &&
           std::ranges::find(options.kinds, entry.kind) == options.kinds.end();
  });
  if (!options.json.empty()) reports::write_text(reports::to_json(entries) + "\n", options.json);
  if (options.json != "-") reports::write_text(table(entries), "-");
}

}  // namespace

void add_list(CLI::App& root, Context&) {
  auto options = std::make_shared<Options>();
  CLI::App* command = root.add_subcommand("list", "every probe, metric, workload and finding");
  command->add_option("kind", options->kinds, "probe, metric, workload, finding [all]")
      ->check(CLI::IsMember({"probe", "metric", "workload", "finding"}));
  command->add_option("--json", options->json, "write the list as JSON; - prints only that");
  command->footer(
      "examples:\n"
      "  plimsoll list\n"
      "  plimsoll list probe workload\n"
      "  plimsoll list --json - | jq '.[] | select(.kind == \"metric\") | .id'");
  command->callback([options] { run(*options); });
}

}  // namespace plimsoll::tools
