// cpu.flops, memory.load_latency and memory.stream_bandwidth through their real binaries.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>

#include "core/system/process.hpp"
#include "core/system/signals.hpp"
#include "tests/catch.hpp"
#include "tests/probes/run_probe.hpp"
#include "tests/reports/schema_check.hpp"
#include "tests/system/tree.hpp"

namespace plimsoll::probes {
namespace {

const std::vector<std::string> kShort = {"--max-time", "2.9"};

std::vector<std::string> invalid(const std::string& json) {
  return reports::testing::schema_errors(json, "", true);
}

std::vector<std::string> briefly(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), kShort.begin(), kShort.end());
  return arguments;
}

sys::ChildResult run_plain(const std::string& id, std::vector<std::string> arguments,
                           std::vector<std::string> before = {},
                           std::map<std::string, std::string> environment = {}) {
  sys::ChildOptions options{.argv = std::move(before)};
  options.argv.push_back(probe_path(id));
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.environment = std::move(environment);
  options.capture_out = options.capture_err = true;
  options.timeout = Seconds(120);
  return sys::run_child(options);
}

void is_sound(const ProbeRun& run) {
  INFO(run.child.out << run.child.err);
  CHECK(run.child.exit_code == 0);
  REQUIRE(run.report);
  CHECK(invalid(reports::to_json(*run.report)).empty());
  REQUIRE_FALSE(run.metrics.empty());
  for (const Metric& metric : run.metrics) {
    INFO(metric.reason);
    if (metric.status == Status::skipped) continue;
    CHECK((metric.status == Status::ok || metric.status == Status::implausible));
    CHECK(metric.value.has_value());
    CHECK(metric.checked == true);
    CHECK_FALSE(metric.samples.empty());
    CHECK_FALSE(metric.source.empty());
  }
}

TEST_CASE("each probe measures, verifies and reports") {
  is_sound(run_probe_binary("cpu.flops", briefly({"--filter", "cores:1/"})));
  is_sound(run_probe_binary("memory.load_latency", briefly({"--size", "16K,1M"})));
  is_sound(run_probe_binary("memory.stream_bandwidth", briefly({"--size", "64K,2M"})));
}

TEST_CASE("the convention of counting and the exact sizes are in the report") {
  const ProbeRun run = run_probe_binary(
      "memory.stream_bandwidth", briefly({"--size", "1000000", "--filter", "cores:1/.*copy"}));
  REQUIRE(run.metrics.size() == 1);
  CHECK(run.metrics[0].params.at("counting") == ParamValue(std::string("stream")));
  CHECK(run.metrics[0].params.at("working_set_bytes") == ParamValue(std::int64_t{1000000}));
  CHECK(run.metrics[0].summary.at("page_faults") < 100);
}

TEST_CASE("sizes that do not fit are refused with both numbers, and no crash") {
  for (const std::string id : {"memory.load_latency", "memory.stream_bandwidth"}) {
    const ProbeRun run = run_probe_binary(id, briefly({"--size", "1000TiB"}));
    CHECK(run.child.exit_code == 1);
    REQUIRE(run.report);
    for (const Metric& metric : run.metrics) {
      CHECK(metric.status == Status::failed);
      CHECK(metric.reason.find("1000 TiB") != std::string::npos);
      CHECK(metric.reason.find("available") != std::string::npos);
      CHECK_FALSE(metric.value.has_value());
    }
  }
  const ProbeRun limited = run_probe_binary(
      "memory.stream_bandwidth", briefly({"--size", "1GiB", "--filter", "cores:1/.*copy"}),
      {"prlimit", "--as=600000000"});
  CHECK(limited.child.exit_code == 1);
  CHECK(limited.child.signal == 0);
}

TEST_CASE("the largest set exceeds all last-level caches together") {
  const sys::testing::Tree tree("eight_llc");
  const sys::ChildResult listed =
      run_plain("memory.stream_bandwidth", {"--list", "--filter", "cores:1/.*kernel:read"}, {},
                {{"PLIMSOLL_FSROOT", tree.root()}});
  INFO(listed.out << listed.err);
  CHECK(listed.exit_code == 0);
  const std::string last = listed.out.substr(listed.out.rfind(':') + 1);
  CHECK(std::stoll(last) >= 4LL * 8 * 32 * 1024 * 1024);
}

TEST_CASE("usage errors: exit 2 and the fix") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--filter", "no_such_case"},
        {"--benchmark_filter=no_such_case"},
        {"--size", "64K"},
        {"--bogus"}}) {
    const sys::ChildResult result = run_plain("cpu.flops", arguments);
    INFO(arguments.front());
    CHECK(result.exit_code == 2);
    CHECK(result.err.find("fix:") != std::string::npos);
    CHECK(result.out.empty());
  }
}

TEST_CASE("stdout holds one document only, and a full disk is an error") {
  const sys::ChildResult result = run_plain(
      "cpu.flops", briefly({"--level", "quick", "--filter", "cores:1/.*scalar", "--out", "-"}));
  CHECK(result.exit_code == 0);
  CHECK(invalid(result.out).empty());
  const sys::ChildResult full = run_plain(
      "cpu.flops",
      briefly({"--level", "quick", "--filter", "scalar", "--out", "/no/such/folder/out.json"}));
  CHECK(full.exit_code == 1);
  CHECK(full.err.find("/no/such/folder") != std::string::npos);
}

TEST_CASE("--max-time and repetitions are obeyed and said") {
  const ProbeRun run = run_probe_binary("memory.load_latency", {"--max-time", "1.0"});
  REQUIRE(run.report);
  CHECK(std::get<MachineSubject>(run.report->subject).partial);
  CHECK(std::ranges::any_of(run.report->findings,
                            [](const Finding& f) { return f.id == "probe.max_time"; }));
  const ProbeRun exact =
      run_probe_binary("cpu.flops", {"--filter", "cores:1/.*scalar", "--benchmark_repetitions=8",
                                     "--benchmark_min_time=0.0001s"});
  REQUIRE(exact.metrics.size() == 2);
  for (const Metric& metric : exact.metrics) CHECK(metric.samples.size() == 8);
}

TEST_CASE("an interrupt leaves a valid partial report and exit code 130") {
  const Scratch scratch;
  const std::string out = scratch.path("out.json");
  sys::ChildOptions options{.argv = {"timeout", "--foreground", "--preserve-status", "-s", "INT",
                                     "3", probe_path("memory.load_latency"), "--level", "full",
                                     "--out", out}};
  options.capture_out = true;
  options.timeout = Seconds(100);
  const sys::ChildResult result = sys::run_child(options);
  CHECK(result.exit_code == 130);
  REQUIRE(std::filesystem::exists(out));
  const Report report = reports::read_report(out);
  CHECK(invalid(reports::to_json(report)).empty());
  CHECK(std::get<MachineSubject>(report.subject).partial);
  CHECK(std::ranges::any_of(report.metrics, [](const Metric& metric) {
    return metric.reason.starts_with("interrupted");
  }));
}

TEST_CASE("four times the work takes about four times as long") {
  // The compiler removed nothing: blocks are counted by their sums, and the rate of a run does not
  // depend on how many operations it held. Under load only the fastest samples are comparable.
  const auto best = [](const char* seconds) {
    const ProbeRun run = run_probe_binary(
        "cpu.flops", {"--filter", "cores:1/dtype:f64/.*scalar", "--benchmark_repetitions=40",
                      std::string("--benchmark_min_time=") + seconds});
    REQUIRE(run.metrics.size() == 1);
    return *std::ranges::max_element(run.metrics[0].samples);
  };
  const double ratio = best("0.0004") / best("0.0016");
  CHECK(ratio > 0.5);
  CHECK(ratio < 2.0);
}

}  // namespace
}  // namespace plimsoll::probes
