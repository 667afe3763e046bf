// Every message and exit code that a user meets before anything is measured.

#include "tests/tools/command.hpp"
#include "tests/catch.hpp"

using namespace plimsoll;
using namespace plimsoll::test;
using Catch::Matchers::Contains;

TEST_CASE("plimsoll alone prints five examples and the next step") {
  const auto result = plimsoll::test::plimsoll({});
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.out, Contains("plimsoll run") && Contains("plimsoll doctor") &&
                             Contains("plimsoll probe") && Contains("plimsoll predict") &&
                             Contains("plimsoll train") && Contains("next:"));
  CHECK(result.err.empty());
}

TEST_CASE("every subcommand has help with examples") {
  for (const char* name : {"run", "doctor", "list", "explain", "probe", "predict", "train",
                           "validate", "report", "schema"}) {
    CAPTURE(name);
    const auto result = plimsoll::test::plimsoll({name, "--help"});
    CHECK(result.exit_code == 0);
    CHECK_THAT(result.out, Contains("example") && Contains("plimsoll " + std::string(name)));
  }
}

TEST_CASE("wrong usage exits 2 and names the argument") {
  CHECK(plimsoll::test::plimsoll({"frobnicate"}).exit_code == 2);
  const auto flag = plimsoll::test::plimsoll({"train", "--frob"});
  CHECK(flag.exit_code == 2);
  CHECK_THAT(flag.err, Contains("--frob"));
}

TEST_CASE("--version prints one line") {
  const auto result = plimsoll::test::plimsoll({"--version"});
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.out, Contains("plimsoll 0.1"));
}

TEST_CASE("an unknown workload exits 2, names it and the known ones") {
  for (const char* command : {"train", "predict"}) {
    CAPTURE(command);
    std::vector<std::string> arguments = {command, "--workload", "alexnet"};
    if (arguments[0] == "predict") {
      arguments.insert(arguments.end(), {"--machine", PLIMSOLL_TEST_DATA "/data/none.json"});
    }
    const auto result = plimsoll::test::plimsoll(arguments);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.err, Contains("'alexnet'") && Contains("mlp") && Contains("lenet"));
    CHECK(result.out.empty());
  }
}

TEST_CASE("more workers than usable CPUs are refused with both numbers") {
  const auto result = plimsoll::test::plimsoll({"train", "--workers", "2", "--threads", "1"},
                                               Seconds(60), {"taskset", "-c", "0"});
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.err, Contains("2 workers x 1 threads") && Contains("1 usable"));
}

TEST_CASE("bad plan values exit 2 and name flag and value") {
  const std::vector<std::vector<std::string>> bad = {
      {"--batch", "0"},     {"--batch", "-4"},   {"--workers", "0"},   {"--bucket", "zero"},
      {"--overlap", "yes"}, {"--dtype", "fp64"}, {"--comm", "pigeon"}, {"--algorithm", "magic"}};
  for (const auto& flags : bad) {
    CAPTURE(flags[0], flags[1]);
    std::vector<std::string> arguments = {"train", "--steps", "1"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const auto result = plimsoll::test::plimsoll(arguments);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.err, Contains(flags[0]));
  }
}

TEST_CASE("a corrupt machine report exits 1 with line and column") {
  const tools::ScratchDirectory scratch;
  const std::string path = scratch.path() + "/machine.json";
  reports::write_text("{\n  \"schema\": \"plimsoll.report/1.0\",\n  \"kind\": \"mach", path);
  const auto result = plimsoll::test::plimsoll({"predict", "--machine", path});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.err, Contains(path) && Contains("3"));
  const auto missing = plimsoll::test::plimsoll({"predict", "--machine", path + ".none"});
  CHECK(missing.exit_code == 1);
  CHECK_THAT(missing.err, Contains(".none"));
}

TEST_CASE("an output folder that cannot be made stops run before it measures") {
  const auto result = plimsoll::test::plimsoll({"run", "--quick", "--out", "/proc/none/here"});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.err, Contains("/proc/none/here") && Contains("--out"));
  CHECK(result.duration < Seconds(30));
}

TEST_CASE("run refuses a folder that holds a run, unless forced") {
  const tools::ScratchDirectory scratch;
  reports::write_text("{}", scratch.path() + "/machine.json");
  const auto result = plimsoll::test::plimsoll({"run", "--quick", "--out", scratch.path()});
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.err, Contains("--force"));
  CHECK(reports::read_text(scratch.path() + "/machine.json") == "{}");
}

TEST_CASE("a cell filter that matches nothing, or is none, exits 2 and lists the cells") {
  const tools::ScratchDirectory scratch;
  const std::vector<std::vector<std::string>> commands = {
      {"run"}, {"validate", "--machine", scratch.path() + "/none.json"}};
  for (const auto& command : commands) {
    for (const char* pattern : {"vgg.*", "[a", "(mlp", "*"}) {
      CAPTURE(command[0], pattern);
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--out", scratch.path() + "/out", "--cells", pattern});
      const auto result = plimsoll::test::plimsoll(arguments);
      CHECK(result.exit_code == 2);
      CHECK_THAT(result.err, Contains("'" + std::string(pattern) + "'") && Contains("--cells") &&
                                 Contains("fix:") && Contains("mlp-b64-w1"));
      CHECK_FALSE(std::filesystem::exists(scratch.path() + "/out"));  // nothing was begun
    }
  }
  const auto filter = plimsoll::test::plimsoll({"probe", "cpu.flops", "--filter", "[a"});
  CHECK(filter.exit_code == 2);
  CHECK_THAT(filter.err, Contains("[a") && Contains("--filter") && Contains("fix:"));
}

TEST_CASE("a cell filter of validate chooses as in run, and not among files") {
  const tools::ScratchDirectory scratch;
  // The cell is chosen; then the machine report is found to be missing.
  const auto chosen =
      plimsoll::test::plimsoll({"validate", "--machine", scratch.path() + "/none.json", "--out",
                                scratch.path(), "--cells", "lenet-b64-w."});
  CHECK(chosen.exit_code == 1);
  CHECK_THAT(chosen.err, Contains("none.json"));
  const auto files = plimsoll::test::plimsoll({"validate", "p.json", "--cells", "mlp.*"});
  CHECK(files.exit_code == 2);
  CHECK_THAT(files.err, Contains("--cells"));
}
