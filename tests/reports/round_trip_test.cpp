// Every field of every record goes into the file and comes back; numbers to the last bit.

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "reports/report.hpp"
#include "tests/catch.hpp"
#include "tests/reports/reflect.hpp"

using namespace plimsoll;
using namespace plimsoll::reports;
namespace t = plimsoll::reports::testing;

namespace {

template <class S>
Report filled() {
  t::Filler filler;
  Report report;
  report.id = new_id();
  report.created = now_rfc3339();
  filler.fill(report.tool);
  filler.fill(report.command);
  filler.fill(report.environment);
  filler.fill(report.quality);
  S subject;
  filler.fill(subject);
  report.subject = subject;
  filler.fill(report.metrics);
  filler.fill(report.findings);
  return report;
}

bool same_report(const Report& a, const Report& b) {
  return a.id == b.id && a.created == b.created && t::same(a.tool, b.tool) &&
         t::same(a.command, b.command) && t::same(a.environment, b.environment) &&
         t::same(a.quality, b.quality) && t::same(a.subject, b.subject) &&
         t::same(a.metrics, b.metrics) && t::same(a.findings, b.findings);
}

Report with_value(double value) {
  Report report = filled<Comparison>();
  report.metrics = {{.name = "a.b", .unit = "s", .value = value}};
  return report;
}

}  // namespace

TEST_CASE("the fields of a record are counted right") {
  CHECK(t::field_count<ReportRef>() == 4);
  CHECK(t::field_count<Tool>() == 7);
  CHECK(t::field_count<Interval>() == 4);
  CHECK(t::field_count<Metric>() >= 15);
  CHECK(t::field_count<Environment>() >= 31);
  CHECK(t::field_count<ValidationCell>() >= 17);
}

TEST_CASE("a comparison of records sees every field") {
  ReportRef a{.id = "1", .sha256 = "2", .path = "3", .created = "4"};
  ReportRef b = a;
  CHECK(t::same(a, b));
  b.created = "5";
  CHECK_FALSE(t::same(a, b));
  Metric m{.name = "a.b", .interval = Interval{.low = 1}};
  Metric n = m;
  CHECK(t::same(m, n));
  n.interval->high = 2;
  CHECK_FALSE(t::same(m, n));
}

TEMPLATE_TEST_CASE("every field of every kind of report survives the file", "", MachineSubject,
                   Prediction, Run, Validation, Comparison) {
  const Report report = filled<TestType>();
  const std::string text = to_json(report);
  const Report back = from_json(text, "test.json");
  CHECK(same_report(report, back));
  CHECK(to_json(back) == text);
}

TEST_CASE("a report of defaults survives the file") {
  Report report;
  CHECK(same_report(report, from_json(to_json(report), "test.json")));
  report.environment.governor.reason = "no cpufreq here";
  CHECK(same_report(report, from_json(to_json(report), "test.json")));
}

TEST_CASE("every field of a job survives the file") {
  t::Filler filler;
  Job job;
  filler.fill(job);
  const std::string text = job_to_json(job);
  CHECK(t::same(job, job_from_json(text, "job.json")));
  CHECK(t::same(Job{}, job_from_json(job_to_json(Job{}), "job.json")));
  CHECK_THROWS_AS(job_from_json(to_json(Report{}), "job.json"), Error);
  CHECK_THROWS_AS(from_json(text, "report.json"), Error);
}

TEST_CASE("numbers come back to the last bit") {
  std::vector<double> samples = {0.0,
                                 -0.0,
                                 0.1,
                                 1.0 / 3,
                                 5e-324,
                                 2.2250738585072014e-308,
                                 1e308,
                                 -1e-9,
                                 1e21,
                                 123456789012345678.0,
                                 1.7976931348623157e308,
                                 4.35,
                                 1e23,
                                 9007199254740993.0};
  std::mt19937_64 random(1);
  while (samples.size() < 20000) {
    const std::uint64_t bits = random();
    double value = 0;
    static_assert(sizeof bits == sizeof value);
    std::memcpy(&value, &bits, sizeof value);
    if (std::isfinite(value)) samples.push_back(value);
  }
  Report report = with_value(1);
  report.metrics[0].samples = samples;
  const std::vector<double> back = from_json(to_json(report), "test.json").metrics[0].samples;
  REQUIRE(back.size() == samples.size());
  CHECK(std::memcmp(back.data(), samples.data(), samples.size() * sizeof(double)) == 0);
}

TEST_CASE("whole numbers keep their type: 5 is not 5.0") {
  Report report = with_value(1);
  report.metrics[0].params = {{"whole", std::int64_t{5}}, {"real", 5.0}};
  const Report back = from_json(to_json(report), "test.json");
  CHECK(std::holds_alternative<std::int64_t>(back.metrics[0].params.at("whole")));
  CHECK(std::holds_alternative<double>(back.metrics[0].params.at("real")));
  report.environment.memory_bytes = std::numeric_limits<std::int64_t>::max();
  CHECK(from_json(to_json(report), "t").environment.memory_bytes ==
        report.environment.memory_bytes);
}

TEST_CASE("NaN and infinity are never written: the metric is named", "[G01]") {
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    CHECK_THROWS_WITH(to_json(with_value(bad)),
                      Catch::Contains("metric a.b") && Catch::Contains("/metrics/0/value"));
    Report report = with_value(1);
    report.metrics[0].samples = {1, bad};
    CHECK_THROWS_WITH(to_json(report), Catch::Contains("a.b") && Catch::Contains("/samples/1"));
    report = with_value(1);
    report.metrics[0].interval = Interval{.low = 0, .high = bad, .method = "bootstrap"};
    CHECK_THROWS_WITH(to_json(report), Catch::Contains("a.b"));
    report = with_value(1);
    report.metrics[0].params = {{"x", bad}};
    CHECK_THROWS_WITH(to_json(report), Catch::Contains("a.b"));
    report = with_value(1);
    report.environment.load_average = bad;
    CHECK_THROWS_WITH(to_json(report), Catch::Contains("/environment/load_average"));
    report = with_value(1);
    report.subject = Validation{.machine = {}, .rows = {{.error = bad}}};
    CHECK_THROWS_WITH(to_json(report), Catch::Contains("/subject/rows/0/error"));
  }
}

TEST_CASE("a metric that contradicts itself is not written") {
  Report report = with_value(1);
  report.metrics[0].status = Status::implausible;
  CHECK_THROWS_WITH(to_json(report), Catch::Contains("a.b: cannot write: no reason"));
  report.metrics[0].status = Status::failed;
  report.metrics[0].reason = "wrong answer";
  CHECK_THROWS_WITH(to_json(report), Catch::Contains("a value with status failed"));
  report.metrics[0].value.reset();
  CHECK_NOTHROW(to_json(report));
  report.metrics[0].status = Status::ok;
  CHECK_THROWS_WITH(to_json(report), Catch::Contains("no value with status ok"));
}

TEST_CASE("bytes that are not UTF-8 are replaced, not fatal", "[G13]") {
  Report report = with_value(1);
  report.environment.hostname = "node\xff\xe9-7";
  report.command.argv = {"plimsoll", "--dir", "m\xfcnchen"};
  report.metrics[0].params = {{"d\xfc", std::string("\xe9")}};
  const Report back = from_json(to_json(report), "test.json");
  CHECK(back.environment.hostname == "node\xEF\xBF\xBD\xEF\xBF\xBD-7");
  CHECK(back.command.argv[2] == "m\xEF\xBF\xBDnchen");
  CHECK(back.metrics[0].params.size() == 1);
}

TEST_CASE("the key order is fixed and samples stand on one line") {
  Report report = with_value(1);
  report.metrics[0].samples = {3, 1, 2};
  const std::string text = to_json(report);
  std::size_t last = 0;
  for (const char* key :
       {"\"schema\"", "\"kind\"", "\"id\"", "\"created\"", "\"tool\"", "\"command\"",
        "\"environment\"", "\"quality\"", "\"subject\"", "\"metrics\"", "\"findings\""}) {
    const std::size_t at = text.find(std::string("\n  ") + key);
    REQUIRE(at != std::string::npos);
    CHECK(at > last);
    last = at;
  }
  CHECK(text.find("\"samples\": [3.0, 1.0, 2.0]") != std::string::npos);
}
