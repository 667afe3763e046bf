// plimsoll report as a user meets it: what it writes, and what it refuses.

#include <filesystem>
#include <string>

#include "reports/report.hpp"
#include "tests/catch.hpp"
#include "tests/reports/page/sample_reports.hpp"
#include "tests/tools/command.hpp"

namespace plimsoll {
namespace {

// Two reports in a folder of their own.
struct Folder {
  Folder() {
    std::filesystem::create_directory(reports_path);
    reports::write_report(reports::testing::sample_machine(), machine);
    reports::write_report(reports::testing::sample_reports().back(), validation);
  }
  tools::ScratchDirectory scratch;
  std::string reports_path = scratch.path() + "/reports";
  std::string machine = reports_path + "/machine.json";
  std::string validation = reports_path + "/validation.json";
  [[nodiscard]] std::string at(const std::string& name) const {
    return scratch.path() + "/" + name;
  }
};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("report writes a page, Markdown and CSV of a folder in one call") {
  const Folder folder;
  const sys::ChildResult result =
      test::plimsoll({"report", folder.reports_path, "--html", folder.at("p.html"), "--md",
                      folder.at("p.md"), "--csv", folder.at("p.csv"), "--title", "a <title>"});
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.out == "");
  const std::string page = reports::read_text(folder.at("p.html"));
  CHECK(holds(page, "<title>a &lt;title&gt;</title>"));
  CHECK(holds(page, "id=\"report-2\""));
  CHECK(holds(reports::read_text(folder.at("p.md")), "plimsoll validation report"));
  CHECK(holds(reports::read_text(folder.at("p.csv")), "memory.load_latency"));
}

TEST_CASE("report without a format prints, and - is stdout") {
  const Folder folder;
  const sys::ChildResult shown = test::plimsoll({"report", folder.validation});
  CHECK(shown.exit_code == 0);
  CHECK(holds(shown.out, "predicted and measured step times"));
  const sys::ChildResult page = test::plimsoll({"report", folder.machine, "--html", "-"});
  CHECK(page.exit_code == 0);
  CHECK(page.out.starts_with("<!doctype html>"));
}

TEST_CASE("the same report twice is shown once and said") {
  const Folder folder;
  const sys::ChildResult result =
      test::plimsoll({"report", folder.reports_path, folder.machine, "--html", "-"});
  CHECK(result.exit_code == 0);
  CHECK(holds(result.err, "again: left out"));
  CHECK(!holds(result.out, "id=\"report-3\""));
}

TEST_CASE("report refuses by name what it cannot do") {
  const Folder folder;
  const std::string broken = folder.at("broken.json"), other = folder.at("other.json");
  reports::write_text("{\"schema\": \"plimsoll.report/1.0\",", broken);
  reports::write_text("{\"schema\": \"something.else/1.0\"}", other);
  std::filesystem::create_directory(folder.at("empty"));
  struct Case {
    std::vector<std::string> arguments;
    int exit_code;
    std::string says;
  };
  const std::vector<Case> cases = {
      {{"report"}, 2, "files is required"},
      {{"report", folder.at("missing.json")}, 1, "missing.json"},
      {{"report", broken}, 1, "ends too early"},
      {{"report", other}, 1, "something.else/1.0"},
      {{"report", folder.at("empty")}, 1, "holds no .json file"},
      {{"report", folder.machine, "--html", folder.at("no/p.html")}, 1, "does not exist"},
      {{"report", folder.machine, "--html", "/dev/full"}, 1, "No space left"},
      {{"report", folder.machine, "--html", "-", "--csv", "-"}, 2, "cannot share stdout"},
      {{"report", folder.machine, "--title", "x"}, 2, "--html FILE"}};
  for (const Case& one : cases) {
    const sys::ChildResult result = test::plimsoll(one.arguments);
    INFO(one.says << "\n" << result.err);
    CHECK(result.exit_code == one.exit_code);
    CHECK(holds(result.err, one.says));
    CHECK(result.out == "");
  }
  CHECK(!std::filesystem::exists(folder.at("no")));
}

TEST_CASE("a page that cannot be written leaves the old one whole") {
  const Folder folder;
  const std::string page = folder.at("p.html");
  reports::write_text("the old page", page);
  const sys::ChildResult result =
      test::plimsoll({"report", folder.machine, folder.at("missing.json"), "--html", page});
  CHECK(result.exit_code == 1);
  CHECK(reports::read_text(page) == "the old page");
}

}  // namespace plimsoll
