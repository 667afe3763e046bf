// plimsoll explain ID: what a probe, metric, finding or workload means.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "reports/report.hpp"
#include "tools/plimsoll/catalogue.hpp"
#include "tools/plimsoll/subcommand.hpp"

namespace plimsoll::tools {
namespace {

struct Options {
  std::string id, json;
};

std::string text_of(const reports::Entry& entry) {
  std::string text = fmt::format("{} ({})\n", entry.id, entry.kind);
  const auto line = [&](const char* label, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<9}{}\n", label, value);
  };
  line("meaning", entry.meaning);
  line("unit", entry.unit);
  line(entry.kind == "probe" ? "method" : "formula", entry.formula);
  line("source", entry.source);
  return text;
}

void run(const Options& options) {
  const std::vector<reports::Entry> found = entries_of(catalogue(), options.id);
  if (!options.json.empty()) reports::write_text(reports::to_json(found) + "\n", options.json);
  if (options.json == "-") return;
  std::string text;
  for (const reports::Entry& entry : found) text += text_of(entry);
  reports::write_text(text, "-");
}

}  // namespace

void add_explain(CLI::App& root, Context&) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      root.add_subcommand("explain", "what a probe, metric, finding or workload means");
  command->add_option("id", options->id, "a name from plimsoll list, or the beginning of some")
      ->required();
  command->add_option("--json", options->json, "write it as JSON; - prints only that");
  command->footer(
      "examples:\n"
      "  plimsoll explain memory.load_latency\n"
      "  plimsoll explain train.phase\n"
      "  plimsoll explain cgroup.cpu_quota --json -");
  command->callback([options] { run(*options); });
}

}  // namespace plimsoll::tools
