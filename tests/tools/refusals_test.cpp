// Values and files that the real command must refuse before any work, and how it says so.

#include <chrono>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/tools/command.hpp"
#include "tests/tools/small_machine.hpp"

using namespace plimsoll;
using namespace plimsoll::test;
using Catch::Matchers::Contains;

namespace {

using Arguments = std::vector<std::string>;

Arguments joined(Arguments first, const Arguments& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

// Writes the small machine with one change and predicts on it.
sys::ChildResult predict_on(const std::string& folder, const Report& machine) {
  const std::string path = folder + "/machine.json";
  reports::write_report(machine, path);
  return plimsoll::test::plimsoll({"predict", "--machine", path});
}

}  // namespace

TEST_CASE("wrong usage has the form of every error: what, where, fix") {
  for (const Arguments& wrong : {Arguments{"frobnicate"}, {"predict"}, {"train", "--frob"}}) {
    const auto result = plimsoll::test::plimsoll(wrong);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.err, Catch::Matchers::StartsWith("plimsoll: ") && Contains("where: ") &&
                               Contains("fix: ") && Contains("--help"));
    CHECK(result.out.empty());
  }
}

TEST_CASE("numbers that are none, empty, too large or out of range are refused, not bent") {
  const std::string huge = "99999999999999999999";
  const std::vector<std::pair<Arguments, Arguments>> refused = {
      {{"train", "--steps"}, {"0", "-1", "", huge, "1e3", "3x"}},
      {{"train", "--epochs"}, {"0", huge}},
      {{"train", "--warmup"}, {"-1", huge}},
      {{"train", "--seed"}, {huge, "one"}},
      {{"train", "--lr"}, {"nan", "inf", "0", "-1", "", "abc", "1e999"}},
      {{"train", "--momentum"}, {"nan", "1", "-0.1"}},
      {{"train", "--timeout"}, {"nan", "inf", "0"}},
      {{"predict", "--machine", "none.json", "--batch"}, {"", huge, "-1", "1000000000000"}},
      {{"predict", "--machine", "none.json", "--prefetch"}, {"1000000000", "-1"}},
      {{"predict", "--machine", "none.json", "--what-if"}, {"memory=x1e-300", "compute=x1e300"}},
      {{"probe", "cpu.flops", "--max-time"}, {"nan", "0"}},
      {{"probe", "cpu.flops", "--seed"}, {huge}},
      {{"validate", "p.json", "--tolerance"}, {"-5", "nan"}},
      {{"run", "--blocks"}, {"0", huge}}};
  for (const auto& [command, values] : refused) {
    for (const std::string& value : values) {
      CAPTURE(command, value);
      const auto result = plimsoll::test::plimsoll(joined(command, {value}));
      CHECK(result.exit_code == 2);
      CHECK_THAT(result.err, Contains(command.back()) && Contains("fix:"));
      CHECK(result.duration < Seconds(20));
    }
  }
}

TEST_CASE("a report that would have no place is refused before the work") {
  const Arguments commands[] = {{"probe", "--full"},
                                {"train", "--steps", "1000000", "--data-dir", "synthetic:512"}};
  for (const Arguments& command : commands) {
    for (const char* flag : {"--out", "--json"}) {
      for (const char* place : {"/proc/none/report.json", "/"}) {
        CAPTURE(command, flag, place);
        const auto result = plimsoll::test::plimsoll(joined(command, {flag, place}), Seconds(60));
        CHECK(result.exit_code == 1);
        CHECK_THAT(result.err, Contains(place) && Contains("fix:"));
      }
    }
    const auto both = plimsoll::test::plimsoll(joined(command, {"--out", "-", "--json", "-"}));
    CHECK(both.exit_code == 2);
    CHECK_THAT(both.err, Contains("stdout"));
    CHECK(both.out.empty());
  }
  const auto dry = plimsoll::test::plimsoll({"probe", "--dry-run", "--json", "-"});
  CHECK(dry.exit_code == 2);
  CHECK(dry.out.empty());
}

TEST_CASE("what a training cannot do is said before it begins") {
  const Arguments base = {"train", "--steps", "3", "--data-dir", "synthetic:512"};
  const auto memory = plimsoll::test::plimsoll(joined(base, {"--batch", "10000000000"}));
  CHECK(memory.exit_code == 1);
  CHECK_THAT(memory.err, Contains("needs") && Contains("iB") && Contains("--batch"));
  const auto batch = plimsoll::test::plimsoll(joined(base, {"--batch", "513"}));
  CHECK(batch.exit_code == 2);
  CHECK_THAT(batch.err, Contains("513") && Contains("512") && Contains("--batch"));
  const auto data = plimsoll::test::plimsoll({"train", "--data-dir", "synthetic:99999999999999"});
  CHECK(data.exit_code == 2);
  CHECK_THAT(data.err, Contains("GiB") && Contains("--data-dir") && Contains("fix:"));
}

TEST_CASE("a run takes only a prediction of its own plan") {
  const tools::ScratchDirectory scratch;
  const std::string machine = scratch.path() + "/machine.json", out = scratch.path() + "/p.json";
  reports::write_report(machine_report(), machine);
  const auto predicted =
      plimsoll::test::plimsoll({"predict", "--machine", machine, "--batch", "64", "--out", out});
  INFO(predicted.err);
  REQUIRE(predicted.exit_code == 0);
  const Arguments train = {"train", "--steps", "2", "--data-dir", "synthetic:512", "--prediction"};
  const auto kind = plimsoll::test::plimsoll(joined(train, {machine, "--batch", "64"}));
  CHECK(kind.exit_code == 2);
  CHECK_THAT(kind.err, Contains("not a prediction") && Contains(machine));
  const auto peak =
      plimsoll::test::plimsoll({"train", "--data-dir", "synthetic:512", "--machine", out});
  CHECK(peak.exit_code == 2);
  CHECK_THAT(peak.err, Contains("not a machine report") && Contains(out));
  const auto plan = plimsoll::test::plimsoll(joined(train, {out, "--batch", "65"}));
  CHECK(plan.exit_code == 2);
  CHECK_THAT(plan.err, Contains("another plan") && Contains(out));
  CHECK(plimsoll::test::plimsoll(joined(train, {out, "--batch", "64"})).exit_code == 0);
}

TEST_CASE("a machine report with other units, doubled metrics or bad CPUs is refused") {
  const tools::ScratchDirectory scratch;
  CHECK(predict_on(scratch.path(), machine_report()).exit_code == 0);

  Report unit = machine_report();
  unit.metrics[0].unit = "GFLOP/s";
  const auto refused = predict_on(scratch.path(), unit);
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.err, Contains("'GFLOP/s'") && Contains("FLOP/s") && Contains("machine.json"));

  Report twice = machine_report();
  twice.metrics.push_back(twice.metrics[0]);
  const auto doubled = predict_on(scratch.path(), twice);
  CHECK(doubled.exit_code == 1);
  CHECK_THAT(doubled.err, Contains("kernel.matmul.rate") && Contains("twice"));

  Report cpus = machine_report();
  cpus.environment.usable_cpus = "3-1";
  const auto bad = predict_on(scratch.path(), cpus);
  CHECK(bad.exit_code == 1);  // the file is wrong, not the command line
  CHECK_THAT(bad.err, Contains("3-1") && Contains("machine.json"));
}

TEST_CASE("what validate leaves out is named; the same report does not count twice") {
  const tools::ScratchDirectory scratch;
  const std::string machine = scratch.path() + "/m.json", prediction = scratch.path() + "/p.json",
                    run = scratch.path() + "/r.json", other = scratch.path() + "/o.json";
  reports::write_report(machine_report(), machine);
  const Arguments plan = {"--batch", "64"};
  REQUIRE(
      plimsoll::test::plimsoll(joined({"predict", "--machine", machine, "--out", prediction}, plan))
          .exit_code == 0);
  const Arguments train = {"train", "--steps", "3", "--data-dir", "synthetic:512", "--out"};
  REQUIRE(plimsoll::test::plimsoll(joined(joined(train, {run, "--prediction", prediction}), plan))
              .exit_code == 0);
  REQUIRE(plimsoll::test::plimsoll(joined(train, {other, "--batch", "32"})).exit_code == 0);
  const auto result = plimsoll::test::plimsoll(
      {"validate", prediction, run, prediction, run, other, machine, "--json", "-"});
  INFO(result.err);
  CHECK(result.exit_code == 0);
  const Report report = reports::from_json(result.out, "stdout");
  const auto& rows = std::get<Validation>(report.subject).rows;
  REQUIRE(rows.size() == 1);
  CHECK_THAT(result.err, Contains(prediction + " is left out") && Contains(run + " is left out") &&
                             Contains(other + " is left out: no prediction of mlp-b32-w1"));
  Report second = machine_report();
  reports::write_report(second, other);
  const auto two = plimsoll::test::plimsoll({"validate", prediction, run, machine, other});
  CHECK(two.exit_code == 2);
  CHECK_THAT(two.err, Contains("second machine report") && Contains(other));
}

TEST_CASE("probe ends 1 when no probe could measure, whatever the reference loops did") {
  const auto storage = plimsoll::test::plimsoll(
      {"probe", "storage", "--quick", "--max-time", "2", "--dir", "/nonexistent"});
  CHECK(storage.exit_code == 1);
  CHECK_THAT(storage.out, Contains("/nonexistent"));
}
