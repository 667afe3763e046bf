// plimsoll report: reports as a page to send, a document to paste, a table to load; or on the
// terminal.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "reports/format/format.hpp"
#include "reports/format/html.hpp"
#include "reports/report.hpp"
#include "tools/plimsoll/subcommand.hpp"

namespace plimsoll::tools {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string html, markdown, csv, title;
};

// A folder stands for every .json file below it.
std::vector<std::string> expanded(const std::vector<std::string>& files) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  for (const std::string& file : files) {
    std::error_code error;
    if (!fs::is_directory(file, error)) {
      out.push_back(file);
      continue;
    }
    std::vector<std::string> found;
    const auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator i(file, options, error), end; i != end && !error;
         i.increment(error)) {
      if (i->path().extension() == ".json" && i->is_regular_file(error)) {
        found.push_back(i->path().string());
      }
    }
    if (error) throw Error("cannot be listed: " + error.message(), file, "name the files");
    if (found.empty()) {
      throw Error("holds no .json file", file, "name a folder that plimsoll run wrote, or files");
    }
    std::sort(found.begin(), found.end());
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

// The same report twice (a copy, or a folder and a file in it) is shown once.
std::vector<Report> read_all(const std::vector<std::string>& files) {
  std::vector<Report> out;
  for (const std::string& file : files) {
    Report report = reports::read_report(file);
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const Report& other) { return other.id == report.id; });
    if (known) {
      std::fprintf(stderr, "plimsoll: %s is report %s again: left out\n", file.c_str(),
                   report.id.c_str());
    } else {
      out.push_back(std::move(report));
    }
  }
  return out;
}

void run(const Options& options) {
  const std::vector<std::string> targets = {options.html, options.markdown, options.csv};
  if (std::count(targets.begin(), targets.end(), "-") > 1) {
    throw usage_error("two formats cannot share stdout", "plimsoll report",
                      "give at most one - among --html, --md and --csv");
  }
  if (!options.title.empty() && options.html.empty()) {
    throw usage_error("a title without a page", "--title", "add --html FILE");
  }
  const std::vector<Report> all = read_all(expanded(options.files));
  if (!options.html.empty()) {
    reports::write_text(reports::html_page(all, options.title), options.html);
    if (!reports::html_has_charts()) {
      std::fputs(
          "plimsoll: this build has no charts, the page has tables only; install npm and "
          "build again\n",
          stderr);
    }
  }
  if (!options.csv.empty()) reports::write_text(reports::csv(all), options.csv);
  std::string text;
  const bool on_terminal = std::all_of(targets.begin(), targets.end(),
                                       [](const std::string& target) { return target.empty(); });
  for (const Report& report : all) {
    if (!text.empty()) text += "\n";
    text += on_terminal ? reports::terminal(report) : reports::markdown(report);
  }
  if (on_terminal) reports::write_text(text, "-");
  if (!options.markdown.empty()) reports::write_text(text, options.markdown);
}

}  // namespace

void add_report(CLI::App& root, Context&) {
  auto options = std::make_shared<Options>();
  CLI::App* command = root.add_subcommand("report", "shows reports, or makes a page to send");
  command->add_option("files", options->files, "report files, or folders that hold them")
      ->required();
  command->add_option("--html", options->html, "one page that opens offline: charts and tables");
  command->add_option("--title", options->title, "of the page");
  command->add_option("--md", options->markdown, "Markdown for issues and pull requests");
  command->add_option("--csv", options->csv, "one row a metric, SI base units");
  command->footer(
      "A FILE may be - for stdin or stdout. Without a format the reports are shown on the "
      "terminal.\n"
      "examples:\n"
      "  plimsoll report machine.json\n"
      "  plimsoll report results/node-a --html report.html --title 'node-a, January'\n"
      "  plimsoll report validation.json --md - | less");
  command->callback([options] { run(*options); });
}

}  // namespace plimsoll::tools
