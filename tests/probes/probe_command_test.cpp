// plimsoll probe, list and explain through the real front command, and the merging of reports.

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/system/process.hpp"
#include "tests/catch.hpp"
#include "tests/probes/run_probe.hpp"
#include "tests/reports/schema_check.hpp"
#include "tools/plimsoll/probing.hpp"

namespace plimsoll::tools {
namespace {

using probes::Scratch;

sys::ChildResult front(std::vector<std::string> arguments,
                       std::map<std::string, std::string> environment = {}) {
  sys::ChildOptions options{.argv = {std::string(PLIMSOLL_BUILD_DIR) + "/bin/plimsoll"}};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.environment = std::move(environment);
  options.capture_out = options.capture_err = true;
  options.timeout = Seconds(200);
  return sys::run_child(options);
}

Metric reference(double sample) {
  return {.name = "reference.memory.time", .unit = "s", .value = sample, .samples = {sample}};
}

Report probe_report(const std::string& id, double sample, const std::string& verdict) {
  Report report;
  report.subject = MachineSubject{.level = "quick", .probes = {{.id = id}}};
  report.metrics = {{.name = id + ".time", .unit = "s", .value = 1.0, .samples = {1.0}},
                    reference(sample)};
  report.environment.libraries = {{"library of " + id, "1"}};
  report.quality.verdict = verdict;
  report.quality.indicators = {{.id = "noise.p90_ratio", .value = sample, .ok = true}};
  return report;
}

TEST_CASE("reports of probes are merged, their reference samples joined") {
  Report machine;
  machine.subject = MachineSubject{.level = "quick"};
  merge_probe(machine, probe_report("a.b", 0.1, "noisy"));
  merge_probe(machine, probe_report("c.d", 0.3, "good"));
  REQUIRE(machine.metrics.size() == 3);
  CHECK(machine.metrics[1].samples == std::vector<double>{0.1, 0.3});
  CHECK(*machine.metrics[1].value == Approx(0.2));
  CHECK(machine.quality.verdict == "noisy");
  REQUIRE(machine.quality.indicators.size() == 1);
  CHECK(machine.quality.indicators[0].value == 0.3);
  CHECK(std::get<MachineSubject>(machine.subject).probes.size() == 2);
  CHECK(machine.environment.libraries ==
        std::map<std::string, std::string>{{"library of a.b", "1"}, {"library of c.d", "1"}});
}

TEST_CASE("samples of a reference loop on other CPUs do not join, and it is told") {
  Report machine;
  machine.subject = MachineSubject{.level = "quick"};
  merge_probe(machine, probe_report("a.b", 0.1, "good"));
  Report other = probe_report("c.d", 0.9, "good");
  other.metrics[1].source = "on each of CPUs 1 at once";
  merge_probe(machine, other);
  CHECK(machine.metrics[1].samples == std::vector<double>{0.1});
  REQUIRE(machine.findings.size() == 1);
  CHECK(machine.findings[0].id == "probe.reference");
}

TEST_CASE("exit codes follow the outcomes") {
  const auto code = [](std::vector<Status> statuses) {
    Report machine;
    MachineSubject subject;
    for (const Status status : statuses) subject.probes.push_back({.id = "x", .status = status});
    machine.subject = subject;
    return exit_code_of(machine);
  };
  CHECK(code({Status::ok, Status::ok}) == ExitCode::good);
  CHECK(code({Status::ok, Status::skipped}) == ExitCode::good);
  CHECK(code({Status::ok, Status::failed}) == ExitCode::partial);
  CHECK(code({Status::failed, Status::failed}) == ExitCode::could_not_run);
  CHECK(code({Status::skipped}) == ExitCode::not_applicable);
}

TEST_CASE("suites and ids choose probes in their fixed order") {
  CHECK(select_probes({}) == known_probes());
  CHECK(select_probes({"all"}) == known_probes());
  CHECK(select_probes({"memory", "cpu.flops", "memory"}) ==
        std::vector<std::string>{"cpu.flops", "memory.load_latency", "memory.stream_bandwidth"});
  CHECK_THROWS_AS(select_probes({"memory", "nonsense"}), Error);
}

TEST_CASE("an unknown suite is a usage error that lists the known ones") {
  const sys::ChildResult result = front({"probe", "warp"});
  CHECK(result.exit_code == 2);
  CHECK(result.err.find("warp") != std::string::npos);
  CHECK(result.err.find("storage") != std::string::npos);
  CHECK(result.out.empty());
  CHECK(front({"probe", "cpu", "--filter", "no_such_case"}).exit_code == 2);
  CHECK(front({"probe", "cpu", "--quick", "--full"}).exit_code == 2);
  CHECK(front({"probe", "nvlink"}).exit_code == 77);
}

TEST_CASE("a dry run says what would be measured and measures nothing") {
  const sys::ChildResult result = front({"probe", "cpu.flops", "memory", "--quick", "--dry-run"});
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("memory.load_latency") != std::string::npos);
  CHECK(result.out.find("3 probes, about") != std::string::npos);
  CHECK(result.duration < Seconds(20));
}

TEST_CASE("one machine report of several probes, valid, alone on stdout") {
  const sys::ChildResult result =
      front({"probe", "cpu", "memory", "--quick", "--filter", "cores:1/.*(scalar|kernel:read)",
             "--max-time", "8", "--json", "-"});
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(reports::testing::schema_errors(result.out, "", true).empty());
  const Report machine = reports::from_json(result.out, "stdout");
  const auto& subject = std::get<MachineSubject>(machine.subject);
  REQUIRE(subject.probes.size() == 2);  // the latency probe has no such case
  CHECK(subject.probes[0].id == "cpu.flops");
  CHECK(subject.probes[1].id == "memory.stream_bandwidth");
  CHECK(subject.level == "quick");
  CHECK(std::ranges::count(subject.missing, "kernel.matmul.rate") == 1);
  CHECK(std::ranges::count(subject.missing, "memory.stream_bandwidth") == 0);
  CHECK_FALSE(machine.environment.cpu_model.empty());
  CHECK(machine.command.argv.at(1) == "probe");
}

TEST_CASE("a missing or hanging binary is recorded and the others go on") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path("probes"));
  std::filesystem::create_symlink(probes::probe_path("cpu.flops"),
                                  scratch.path("probes/plimsoll-probe-cpu.flops"));
  reports::write_text("#!/bin/sh\necho 'out of order' >&2\nkill -SEGV $$\n",
                      scratch.path("probes/plimsoll-probe-memory.load_latency"));
  std::filesystem::permissions(scratch.path("probes/plimsoll-probe-memory.load_latency"),
                               std::filesystem::perms::owner_all);
  const sys::ChildResult result =
      front({"probe", "cpu", "memory", "--quick", "--max-time", "12", "--json", "-"},
            {{"PLIMSOLL_LIBEXEC", scratch.path()}});
  INFO(result.err);
  CHECK(result.exit_code == 5);
  const Report machine = reports::from_json(result.out, "stdout");
  const auto& outcomes = std::get<MachineSubject>(machine.subject).probes;
  REQUIRE(outcomes.size() == 3);
  CHECK(outcomes[0].status != Status::failed);
  CHECK(outcomes[1].status == Status::failed);
  CHECK(outcomes[1].reason.find("signal") != std::string::npos);
  CHECK(outcomes[2].status == Status::failed);
  CHECK(outcomes[2].reason.find("missing") != std::string::npos);
}

TEST_CASE("an interrupt leaves a valid partial machine report and exit code 130") {
  const Scratch scratch;
  const std::string out = scratch.path("machine.json");
  // In the background, timeout would send the signal twice: the second one ends at once.
  sys::ChildOptions options{.argv = {"timeout", "--foreground", "--preserve-status", "-s", "INT",
                                     "4", std::string(PLIMSOLL_BUILD_DIR) + "/bin/plimsoll",
                                     "probe", "memory", "cpu", "--full", "--out", out}};
  options.capture_out = options.capture_err = true;
  options.timeout = Seconds(150);
  CHECK(sys::run_child(options).exit_code == 130);
  REQUIRE(std::filesystem::exists(out));
  const std::string text = reports::read_text(out);
  CHECK(reports::testing::schema_errors(text, "", true).empty());
  const Report machine = reports::from_json(text, out);
  const auto& subject = std::get<MachineSubject>(machine.subject);
  CHECK(subject.partial);
  CHECK(subject.probes.size() == 3);
  CHECK(subject.probes.back().reason == "interrupted");
}

TEST_CASE("list and explain know every probe and metric that a report can hold") {
  const sys::ChildResult listed = front({"list", "--json", "-"});
  REQUIRE(listed.exit_code == 0);
  const auto json = nlohmann::json::parse(listed.out);
  std::vector<std::string> ids;
  for (const auto& entry : json) {
    ids.push_back(entry["id"]);
    CHECK_FALSE(entry["meaning"].get<std::string>().empty());
  }
  for (const std::string id :
       {"cpu.flops", "cpu.flops.rate", "memory.load_latency", "reference.memory.time",
        "train.step_time", "predict.step_time", "validation.error_median", "memory.cache_levels",
        "host.load", "mlp", "lenet"}) {
    INFO(id);
    CHECK(std::ranges::count(ids, id) >= 1);
    const sys::ChildResult explained = front({"explain", id});
    CHECK(explained.exit_code == 0);
    CHECK(explained.out.find("meaning") != std::string::npos);
  }
  const sys::ChildResult unknown = front({"explain", "memory.latency"});
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.find("memory.load_latency") != std::string::npos);
}

}  // namespace
}  // namespace plimsoll::tools
