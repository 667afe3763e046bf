// What the doctor finds on made-up machines.

#include "core/system/doctor.hpp"

#include <set>

#include "core/error.hpp"
#include "core/system/affinity.hpp"
#include "tests/catch.hpp"
#include "tests/reports/schema_check.hpp"
#include "tests/system/doctor_run.hpp"
#include "tests/system/tree.hpp"

namespace plimsoll::sys {

using testing::doctor_report;
using testing::find;
using testing::run_doctor;
using testing::Tree;
using testing::Variables;

namespace {

Variables lying(const std::string& how) {
  // The address sanitizer wants to be loaded first, unless told that others may be.
  return {{"LD_PRELOAD", LYING_CLOCK},
          {"LYING_CLOCK", how},
          {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
}

}  // namespace

TEST_CASE("the table of checks: ids are unique, and every row explains itself") {
  std::set<std::string> ids;
  for (const Check& check : checks()) {
    INFO(check.id);
    CHECK(ids.insert(std::string(check.id)).second);
    CHECK(check.id.find('.') != std::string::npos);
    CHECK_FALSE(check.question.empty());
    CHECK_FALSE(check.effect.empty());
  }
  CHECK_THROWS_AS(diagnose(Facts{}, "no.such"), Error);
}

TEST_CASE("a healthy invented machine has no finding; each fault gives its own, errors first") {
  Tree tree;
  tree.add("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n");
  Facts facts;
  facts.root = tree.root();
  facts.topology.present = facts.topology.online = facts.topology.usable = CpuSet{0, 1};
  facts.topology.cores = {{.cpus = CpuSet{0}}, {.cpus = CpuSet{1}}};
  facts.topology.caches = {{3, "unified", Bytes(32e6), CpuSet{0, 1}}};
  facts.topology.numa = {{.id = 0, .memory = Bytes(16e9), .cpus = CpuSet{0, 1}}};
  facts.environment.governor.value = "performance";
  facts.environment.frequency_hz.value = 3e9;
  facts.environment.clock_source = "tsc";
  facts.environment.transparent_huge_pages = "madvise";
  facts.clock = {Seconds(20e-9), Seconds(20e-9), 0};
  const auto ids = [&] {
    std::set<std::string> seen;
    for (const Finding& finding : diagnose(facts))
      // These look at the machine that runs the test.
      if (finding.id.rfind("storage.", 0) != 0 && finding.id.rfind("build.", 0) != 0 &&
          finding.id.rfind("mpi.", 0) != 0 && finding.id != "limits.shm")
        seen.insert(finding.id);
    return seen;
  };
  CHECK(ids().empty());

  facts.environment.governor.value = "powersave";
  CHECK(ids() == std::set<std::string>{"cpu.governor"});
  facts.environment.load_average = 9;
  facts.environment.steal_ratio = 0.05;
  facts.environment.virtualised = true;
  facts.environment.transparent_huge_pages = "never";
  facts.cgroup.cpu_quota = {1.5, "/sys/fs/cgroup/cpu.max"};
  facts.cgroup.memory_limit = {Bytes(256e6), "/sys/fs/cgroup/memory.max"};
  facts.cgroup.throttling = Throttling{10, 4, Seconds(2.5)};
  facts.clock.backward_steps = 3;
  facts.clock.resolution = Seconds(0.01);
  facts.cuda.state = CudaState::mismatch;
  facts.cuda.fix = "restart";
  facts.topology.present.insert(2);
  CHECK(ids() == std::set<std::string>{"cgroup.cpu_quota", "cgroup.throttled", "clock.source",
                                       "clock.steps", "cpu.governor", "cpu.offline", "gpu.driver",
                                       "host.load", "host.steal", "host.virtualised",
                                       "memory.huge_pages", "memory.limit"});
  const std::vector<Finding> findings = diagnose(facts);
  CHECK(findings.front().severity == Severity::error);
  CHECK(findings.back().severity == Severity::info);
  for (const Finding& finding : findings) {
    CHECK_FALSE(finding.effect.empty());
    CHECK_FALSE(finding.fix.empty());
  }
  CHECK(diagnose(facts, "cgroup.cpu_quota").size() == 1);
  CHECK(diagnose(facts, "cgroup.cpu_quota").front().message.find("1.50 CPUs") != std::string::npos);
}

TEST_CASE("doctor as a user runs it: one block, and a report that fits the schema") {
  const ChildResult plain = run_doctor({});
  CHECK(plain.exit_code == 0);
  for (const char* word : {"cpu", "usable", "memory", "clock", "gpu", "build", "checks"})
    CHECK(plain.out.find(word) != std::string::npos);
  CHECK(plain.err.empty());
  const ChildResult json = run_doctor({"--json", "-"});
  CHECK(json.exit_code == 0);
  CHECK(reports::testing::schema_errors(json.out, "machine", true).empty());
  const Report report = reports::from_json(json.out, "doctor");
  CHECK(report.metrics.empty());
  CHECK(report.environment.usable_cpus == format_cpulist(affinity()));
}

TEST_CASE("wrong usage names the possible checks") {
  const ChildResult result = run_doctor({"--only", "no.such"});
  CHECK(result.exit_code == 2);
  CHECK(result.err.find("no.such") != std::string::npos);
  CHECK(result.err.find("cgroup.cpu_quota") != std::string::npos);
  CHECK(run_doctor({"--json", "/no/such/folder/x.json"}).exit_code == 1);
}

TEST_CASE("under taskset: present and usable differ, and the id is the true one") {
  const CpuSet before = affinity();
  const std::string last = std::to_string(before.last());
  const Report report = doctor_report({}, {"taskset", "-c", last});
  CHECK(report.environment.usable_cpus == last);
  CHECK(parse_cpulist(report.environment.online_cpus, "report").count() >= before.count());
  if (before.count() > 1) CHECK(find(report, "cpu.usable") != nullptr);
  const ChildResult text = run_doctor({}, {}, {"taskset", "-c", last});
  CHECK(text.out.find("default threads 1") != std::string::npos);
}

TEST_CASE("made-up machines: offline, sparse, memoryless, memory-only, absurd caches") {
  const auto report_of = [](const char* manifest) {
    const Tree tree(manifest);
    return doctor_report({{"PLIMSOLL_FSROOT", tree.root()}});
  };
  const Report offline = report_of("cpu0_offline");
  CHECK(offline.environment.present_cpus == "0-3");
  CHECK(offline.environment.usable_cpus == "1-3");
  CHECK(find(offline, "cpu.offline") != nullptr);
  CHECK(report_of("sparse_ids").environment.usable_cpus == "0-3,64-67,1024");
  const Report memoryless = report_of("memoryless_node");
  REQUIRE(memoryless.environment.numa.size() == 2);
  CHECK(memoryless.environment.numa[0].memory_bytes == 0);
  CHECK(memoryless.environment.numa[0].cpus == "0-1");
  CHECK(find(memoryless, "memory.nodes") != nullptr);
  const Report extra = report_of("cpuless_node");
  CHECK(extra.environment.numa.at(1).id == 4);
  CHECK(extra.environment.memory_bytes == 8LL << 30);
  const Report caches = report_of("bad_cache");
  CHECK(find(caches, "cache.size") != nullptr);
  for (const CacheFact& cache : caches.environment.caches)
    CHECK(cache.size_bytes.has_value() == (cache.type == "instruction"));
  const Report network = report_of("net_speeds");
  REQUIRE(find(network, "network.link_speed") != nullptr);
  CHECK(find(network, "network.link_speed")->message.find("veth7") == std::string::npos);
}

TEST_CASE("a quota in a made-up root: hardware facts and limits stay apart") {
  Tree tree("eight_llc");
  tree.add("/sys/fs/cgroup/cpu.max", "25000 100000\n");
  const Report report = doctor_report({{"PLIMSOLL_FSROOT", tree.root()}});
  CHECK(report.environment.hardware_threads == 16);
  CHECK(report.environment.cpu_quota.value.value() == Approx(0.25));
  REQUIRE(find(report, "cgroup.cpu_quota") != nullptr);
  CHECK(find(report, "cgroup.cpu_quota")->message.find("default threads: 1") != std::string::npos);
}

TEST_CASE("a clock that stands still or runs backwards is an error, with --strict exit code 3") {
  for (const char* how : {"still", "back", "coarse"}) {
    const Variables variables = lying(how);
    const ChildResult result = run_doctor({"--only", "clock.steps", "--strict"}, variables);
    INFO(how << ": " << result.out << result.err);
    CHECK(result.exit_code == (std::string(how) == "coarse" ? 0 : 3));
  }
  CHECK(run_doctor({"--only", "clock.steps", "--strict"}).exit_code == 0);
  const Report coarse = doctor_report(lying("coarse"));
  // The clock steps by 10 ms; a busy machine may see two steps at once, never less than one.
  CHECK(coarse.environment.clock_resolution_s >= 0.0099);
  CHECK(coarse.environment.clock_resolution_s <= 0.1);
  CHECK(find(coarse, "clock.source") != nullptr);
}

TEST_CASE("a clock that stands still gives no times, the reference loops' included") {
  ChildOptions child{.argv = {PLIMSOLL_PROGRAM, "probe", "cpu.flops", "--quick", "--max-time", "3",
                              "--json", "-"}};
  child.environment = lying("still");
  child.capture_out = child.capture_err = true;
  const ChildResult result = run_child(child);
  INFO(result.err);
  CHECK(result.exit_code == 1);
  const Report report = reports::from_json(result.out, "stdout");
  CHECK(report.metrics.size() > 3);
  for (const Metric& metric : report.metrics) {
    CAPTURE(metric.name);
    CHECK_FALSE(metric.value.has_value());
    CHECK_FALSE(metric.reason.empty());
  }
}

TEST_CASE("a locale that does not exist, and a decimal comma, change nothing") {
  for (const char* locale : {"xx_XX.UTF-8", "de_DE.UTF-8"}) {
    const ChildResult result = run_doctor({"--json", "-"}, {{"LC_ALL", locale}});
    CHECK(result.exit_code == 0);
    CHECK(reports::testing::schema_errors(result.out, "machine", true).empty());
  }
}

}  // namespace plimsoll::sys
