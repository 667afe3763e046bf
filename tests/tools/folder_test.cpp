// The folder that run and validate fill: unusable, already filled, replaced.

#include "tools/plimsoll/folder.hpp"

#include <filesystem>

#include "tests/catch.hpp"
#include "tests/tools/command.hpp"
#include "tests/tools/small_machine.hpp"

using namespace plimsoll;
using namespace plimsoll::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

TEST_CASE("validate names a folder that it cannot fill") {
  const tools::ScratchDirectory scratch;
  const std::string machine = scratch.path() + "/machine.json";
  reports::write_report(machine_report(), machine);
  for (const std::string& place : {std::string("/proc/none/here"), machine}) {
    const auto result = plimsoll::test::plimsoll(
        {"validate", "--machine", machine, "--out", place, "--cells", "mlp-b64-w1"});
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.err, Contains(place) && Contains("--out"));
    CHECK_THAT(result.err, !Contains("report this"));
  }
}

TEST_CASE("validate does not write over an earlier validation unless forced") {
  const tools::ScratchDirectory scratch;
  const std::string machine = scratch.path() + "/machine.json",
                    old = scratch.path() + "/validation.json";
  reports::write_report(machine_report(), machine);
  reports::write_text("{}", old);
  const auto result =
      plimsoll::test::plimsoll({"validate", "--machine", machine, "--out", scratch.path()});
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.err, Contains("--force") && Contains("validation.json"));
  CHECK(reports::read_text(old) == "{}");
}

TEST_CASE("a replaced result leaves nothing that could be shown with the new one") {
  const tools::ScratchDirectory scratch;
  const auto path = [&](const std::string& name) { return scratch.path() + "/" + name; };
  fs::create_directories(path("runs"));
  fs::create_directories(path("predictions"));
  for (const char* name : {"machine.json", "validation.json", "report.html", "notes.txt",
                           "runs/lenet-b64-w1-1.json", "runs/notes.txt", "predictions/a.json"}) {
    reports::write_text("{}", path(name));
  }
  CHECK_THROWS_AS(tools::prepare_folder(scratch.path(), "machine.json", false), Error);
  CHECK(fs::exists(path("runs/lenet-b64-w1-1.json")));
  tools::prepare_folder(scratch.path(), "machine.json", true);
  for (const char* gone : {"machine.json", "validation.json", "report.html",
                           "runs/lenet-b64-w1-1.json", "predictions/a.json"}) {
    CHECK_FALSE(fs::exists(path(gone)));
  }
  CHECK(fs::exists(path("notes.txt")));
  CHECK(fs::exists(path("runs/notes.txt")));
}

TEST_CASE("run looks for its data before it measures") {
  const tools::ScratchDirectory scratch;
  const auto result = plimsoll::test::plimsoll(
      {"run", "--quick", "--out", scratch.path(), "--data-dir", scratch.path() + "/no-data"});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.err, Contains("no-data") && Contains("--data-dir"));
  CHECK_FALSE(fs::exists(scratch.path() + "/machine.json"));
}
