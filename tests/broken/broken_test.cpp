// A wrong answer must never become a number: faulty subjects, a faulty walk and a lying copy
// through the real harness, and through the real front command.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "core/record.hpp"
#include "core/system/process.hpp"
#include "reports/report.hpp"
#include "tests/catch.hpp"
#include "tests/probes/run_probe.hpp"

namespace plimsoll::probes {
namespace {

namespace fs = std::filesystem;

const std::string kBroken = PLIMSOLL_BROKEN_DIR;

struct Outcome {
  int exit_code = 0;
  Report report;
  std::string text, raw;
};

Outcome run_broken(const std::string& name, std::vector<std::string> arguments) {
  const Scratch scratch;
  sys::ChildOptions options{
      .argv = {kBroken + "/" + name, "--out", scratch.path("r.json"), "--level", "quick"}};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.capture_out = options.capture_err = true;
  options.timeout = Seconds(120);
  const sys::ChildResult child = sys::run_child(options);
  INFO(child.out << child.err);
  REQUIRE(fs::exists(scratch.path("r.json")));
  return {.exit_code = child.exit_code,
          .report = reports::read_report(scratch.path("r.json")),
          .text = child.out,
          .raw = reports::read_text(scratch.path("r.json"))};
}

const Metric& metric_of(const Report& report, const std::string& key, const std::string& value) {
  const auto found = std::ranges::find_if(report.metrics, [&](const Metric& metric) {
    const auto param = metric.params.find(key);
    return param != metric.params.end() && param->second == ParamValue(value);
  });
  REQUIRE(found != report.metrics.end());
  return *found;
}

void has_no_number(const Metric& metric, Status status, const std::string& reason) {
  INFO(metric.reason);
  CHECK(metric.status == status);
  CHECK_FALSE(metric.value.has_value());
  CHECK(metric.samples.empty());
  CHECK_FALSE(metric.interval.has_value());
  CHECK(metric.reason.find(reason) == 0);
}

TEST_CASE("faulty subjects get a status, a typed reason and no number") {
  const Outcome outcome = run_broken("broken-subjects", {"--max-time", "20"});
  CHECK(outcome.exit_code == 3);
  const auto metric = [&](const std::string& subject) -> const Metric& {
    return metric_of(outcome.report, "subject", subject);
  };
  has_no_number(metric("wrong"), Status::failed, "wrong_answer: one plus one gave three");
  has_no_number(metric("wrong_at_the_end"), Status::failed, "wrong_answer: the last answer");
  has_no_number(metric("throws_in_make"), Status::failed, "error: no such device (slot 3)");
  has_no_number(metric("throws_in_run"), Status::failed, "error: the device is gone");
  has_no_number(metric("throws_later"), Status::failed, "error: out of luck");
  has_no_number(metric("throws_in_verify"), Status::failed, "error: cannot read");
  has_no_number(metric("makes_nothing"), Status::failed, "error:");
  has_no_number(metric("not_offered"), Status::skipped, "not_applicable: this machine has none");
  has_no_number(metric("skipped"), Status::skipped, "not_applicable: needs another machine");
  for (const std::string how : {"nan", "infinite", "negative", "zero", "often_negative"}) {
    has_no_number(metric(how), Status::failed, "unusable_time:");
  }

  const Metric& sound = metric("sound");
  CHECK(sound.status == Status::ok);
  CHECK(*sound.value == Approx(1e-4));
  CHECK(sound.checked == true);
  CHECK_FALSE(sound.summary.contains("not_a_number"));

  const Metric& sometimes = metric("sometimes_negative");
  CHECK(sometimes.status == Status::ok);
  CHECK(*sometimes.value == Approx(1e-4));
  CHECK(sometimes.summary.at("dropped") >= 1);
  CHECK(std::ranges::all_of(sometimes.samples, [](double sample) { return sample > 0; }));

  const Metric& implausible = metric("implausible");
  CHECK(implausible.status == Status::implausible);
  CHECK(*implausible.value == Approx(100));
  CHECK(implausible.reason.find("range:") == 0);

  const auto& probe = std::get<MachineSubject>(outcome.report.subject).probes.at(0);
  CHECK(probe.status == Status::failed);
  CHECK(outcome.raw.find("NaN") == std::string::npos);
  CHECK(outcome.raw.find("Infinity") == std::string::npos);
}

TEST_CASE("failed and skipped are told apart by the exit code") {
  CHECK(run_broken("broken-subjects", {"--filter", "subject:(skipped|not_offered)"}).exit_code ==
        77);
  CHECK(run_broken("broken-subjects", {"--filter", "subject:throws_in_make"}).exit_code == 1);
  CHECK(run_broken("broken-subjects", {"--filter", "subject:(throws_in_make|sound)"}).exit_code ==
        5);
  CHECK(run_broken("broken-subjects", {"--filter", "subject:(wrong|sound)"}).exit_code == 3);
  CHECK(run_broken("broken-subjects", {"--filter", "subject:(sound|skipped)"}).exit_code == 0);
}

TEST_CASE("a walk of two half cycles is refused") {
  const Outcome outcome =
      run_broken("broken-walk", {"--filter", "page:4k/working_set_bytes:(16384|262144)"});
  CHECK(outcome.exit_code == 3);
  std::size_t walks = 0;
  for (const Metric& metric : outcome.report.metrics) {
    if (metric.name != "memory.load_latency") continue;
    ++walks;
    has_no_number(metric, Status::failed, "wrong_answer: the walk is not one cycle");
  }
  CHECK(walks == 2);
}

TEST_CASE("a copy that drops a page is refused, its honest neighbours are not") {
  const Outcome outcome =
      run_broken("broken-copy", {"--size", "64K", "--filter", "cores:1/.*kernel:(copy|triad)"});
  CHECK(outcome.exit_code == 3);
  has_no_number(metric_of(outcome.report, "kernel", "copy"), Status::failed,
                "wrong_answer: copy, block 0");
  CHECK(metric_of(outcome.report, "kernel", "triad").value.has_value());
}

TEST_CASE("a matmul that skips half its work is refused") {
  const Outcome outcome = run_broken(
      "broken-matmul", {"--filter", "busy_cores:0/direction:forward/dtype:f32/k:8/m:1024/n:8/"});
  CHECK(outcome.exit_code == 3);
  std::size_t products = 0;
  for (const Metric& metric : outcome.report.metrics) {
    if (metric.name != "kernel.matmul.rate") continue;
    ++products;
    has_no_number(metric, Status::failed, "wrong_answer: output 0 of 8192");
  }
  CHECK(products >= 1);
}

TEST_CASE("the front command records the failure and measures the others") {
  const Scratch scratch;
  fs::create_directories(scratch.path("probes"));
  const std::string real = std::string(PLIMSOLL_BUILD_DIR) + "/libexec/plimsoll/probes";
  fs::create_symlink(kBroken + "/broken-walk",
                     scratch.path("probes/plimsoll-probe-memory.load_latency"));
  fs::create_symlink(real + "/plimsoll-probe-cpu.flops",
                     scratch.path("probes/plimsoll-probe-cpu.flops"));
  sys::ChildOptions options{.argv = {std::string(PLIMSOLL_BUILD_DIR) + "/bin/plimsoll", "probe",
                                     "memory", "cpu", "--quick", "--max-time", "20", "--out",
                                     scratch.path("machine.json")}};
  options.environment = {{"PLIMSOLL_LIBEXEC", scratch.path()}};
  options.capture_out = options.capture_err = true;
  options.timeout = Seconds(200);
  const sys::ChildResult child = sys::run_child(options);
  INFO(child.out << child.err);
  CHECK(child.exit_code == 5);
  const Report machine = reports::read_report(scratch.path("machine.json"));
  const auto& probes = std::get<MachineSubject>(machine.subject).probes;
  const auto status_of = [&](const std::string& id) {
    const auto found = std::ranges::find(probes, id, &ProbeOutcome::id);
    REQUIRE(found != probes.end());
    return found->status;
  };
  CHECK(status_of("memory.load_latency") == Status::failed);
  CHECK(status_of("memory.stream_bandwidth") == Status::failed);  // its binary is missing
  CHECK(status_of("cpu.flops") != Status::failed);
  for (const Metric& metric : machine.metrics) {
    if (metric.name == "memory.load_latency") CHECK_FALSE(metric.value.has_value());
  }
}

}  // namespace
}  // namespace plimsoll::probes
