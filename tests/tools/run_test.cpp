// The whole loop through the real binary: files, schema, order in time, interrupts.

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "core/system/affinity.hpp"
#include "core/system/clock.hpp"
#include "core/system/signals.hpp"
#include "tests/catch.hpp"
#include "tests/tools/command.hpp"

using namespace plimsoll;
using namespace plimsoll::test;
using Catch::Matchers::Contains;

namespace {

std::string source_of(const Report& report, const std::string& metric) {
  for (const Metric& m : report.metrics) {
    if (m.name == metric) return m.source;
  }
  return "no " + metric;
}

}  // namespace

TEST_CASE("run leaves valid reports, and its predictions are older than its runs") {
  const tools::ScratchDirectory scratch;
  const auto result =
      plimsoll::test::plimsoll({"run", "--quick", "--out", scratch.path(), "--cells",
                                "mlp-b64-w1|lenet-b64-w1", "--blocks", "1"},
                               Seconds(280));
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const std::vector<std::string> files = json_files(scratch.path());
  CHECK(files.size() == 1 + 2 + 2 + 1);  // machine, predictions, runs, validation
  CHECK(invalid(files) == "");
  CHECK(reports::read_text(scratch.path() + "/report.html").size() > 10000);
  CHECK_THAT(result.out, Contains("mlp") && Contains("lenet"));

  const auto machine = reports::reference_to(scratch.path() + "/machine.json");
  for (const char* cell : {"mlp-b64-w1", "lenet-b64-w1"}) {
    CAPTURE(cell);
    const std::string prediction_path = scratch.path() + "/predictions/" + cell + ".json";
    const Report prediction = reports::read_report(prediction_path);
    const Report run = reports::read_report(scratch.path() + "/runs/" + cell + "-1.json");
    CHECK(std::get<Prediction>(prediction.subject).machine.sha256 == machine.sha256);
    const auto& linked = std::get<Run>(run.subject).prediction;
    REQUIRE(linked.has_value());
    CHECK(linked->sha256 == reports::reference_to(prediction_path).sha256);
    CHECK(prediction.created < run.created);
  }
  // Probes and trainer take the reference loops alike, whatever the plan occupies.
  const Report probed = reports::read_report(scratch.path() + "/machine.json");
  const Report ran = reports::read_report(scratch.path() + "/runs/mlp-b64-w1-1.json");
  for (const char* loop : {"reference.compute_f32.time", "reference.memory.time"}) {
    CAPTURE(loop);
    CHECK(source_of(probed, loop) == source_of(ran, loop));
    CHECK_THAT(source_of(ran, loop),
               Contains("CPUs " + sys::format_cpulist(sys::affinity()) + " at once"));
  }
  // Who links a library names its version; the machine report names those of all probes.
  for (const Report* report : {&probed, &ran}) {
    CHECK(report->environment.libraries.contains("onednn"));
    CHECK(report->environment.libraries.contains("hwloc"));
  }
  CHECK(probed.environment.libraries.contains("google-benchmark"));
  const Report validation = reports::read_report(scratch.path() + "/validation.json");
  CHECK(validation.findings.empty());
  CHECK(std::get<Validation>(validation.subject).rows.size() == 2);
}

TEST_CASE("Ctrl-C in run leaves a valid partial machine report and exits 130") {
  const tools::ScratchDirectory scratch;
  sys::clear_interrupt();
  std::thread finger([] {
    ::usleep(4000000);
    sys::request_interrupt(SIGINT);
  });
  const auto result =
      plimsoll::test::plimsoll({"run", "--quick", "--out", scratch.path()}, Seconds(120));
  finger.join();
  sys::clear_interrupt();
  CHECK(result.exit_code == 130);
  const std::string path = scratch.path() + "/machine.json";
  CHECK(invalid({path}) == "");
  CHECK(std::get<MachineSubject>(reports::read_report(path).subject).partial);
  CHECK_FALSE(std::filesystem::exists(scratch.path() + "/validation.json"));
}
