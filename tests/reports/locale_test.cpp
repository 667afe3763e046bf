// With a decimal comma in force everything is written and read as in the C locale. The locale is
// compiled here by localedef, as a system with German users would have it.

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <locale>

#include "reports/format/format.hpp"
#include "reports/report.hpp"
#include "tests/catch.hpp"
#include "tests/reports/samples.hpp"

using namespace plimsoll;
using namespace plimsoll::reports;
namespace t = plimsoll::reports::testing;

TEST_CASE("a decimal comma reaches neither files nor tables", "[G02]") {
  std::vector<std::string> expected;
  for (const Report& report : t::all_samples()) expected.push_back(to_json(report));
  for (const Format& format : formats()) {
    if (format.name != "html") expected.push_back(format.write(t::all_samples()));
  }
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("plimsoll-" + new_id());
  std::filesystem::create_directory(folder);
  const std::string command =
      "localedef -c -i de_DE -f UTF-8 '" + (folder / "de_DE.UTF-8").string() + "' >/dev/null 2>&1";
  const int made = std::system(command.c_str());
  ::setenv("LOCPATH", folder.c_str(), 1);
  const char* set = std::setlocale(LC_ALL, "de_DE.UTF-8");
  if (set == nullptr) {
    std::filesystem::remove_all(folder);
    std::printf("SKIPPED: no locale de_DE.UTF-8 and localedef cannot make one (code %d)\n", made);
    return;
  }
  std::locale::global(std::locale("de_DE.UTF-8"));
  char text[16];
  std::snprintf(text, sizeof text, "%.1f", 0.5);
  REQUIRE(std::string(text) == "0,5");  // the locale is really in force

  std::size_t i = 0;
  for (const Report& report : t::all_samples()) {
    CHECK(to_json(report) == expected[i]);
    CHECK(to_json(from_json(expected[i], "r.json")) == expected[i]);
    ++i;
  }
  for (const Format& format : formats()) {
    if (format.name != "html") CHECK(format.write(t::all_samples()) == expected[i++]);
  }
  CHECK(i == expected.size());
  Job job;
  job.momentum = 0.5;
  CHECK(job_from_json(job_to_json(job), "job.json").momentum == 0.5);
  std::locale::global(std::locale::classic());
  std::filesystem::remove_all(folder);
}

TEST_CASE("a locale that does not exist changes nothing", "[G03]") {
  ::setenv("LC_ALL", "xx_YY.UTF-8", 1);
  ::setenv("LANG", "xx_YY.UTF-8", 1);
  CHECK(std::setlocale(LC_ALL, "") == nullptr);
  for (const Report& report : t::all_samples()) {
    CHECK(to_json(from_json(to_json(report), "r.json")) == to_json(report));
    CHECK_FALSE(terminal(report).empty());
  }
}
