// What people read: golden texts of every format, units, and the odd inputs that break tables.
//
// PLIMSOLL_GOLDEN=update writes the golden files anew; look at the difference before committing.

#include <cmath>
#include <cstdlib>

#include "core/error.hpp"
#include "reports/format/format.hpp"
#include "reports/format/html.hpp"
#include "reports/format/units.hpp"
#include "reports/report.hpp"
#include "tests/catch.hpp"
#include "tests/reports/samples.hpp"

using namespace plimsoll;
using namespace plimsoll::reports;
namespace t = plimsoll::reports::testing;

namespace {

void check_golden(const std::string& text, const std::string& name) {
  const std::string path = std::string(PLIMSOLL_SOURCE_DIR) + "/tests/golden/" + name;
  const char* mode = std::getenv("PLIMSOLL_GOLDEN");
  if (mode != nullptr && std::string(mode) == "update") write_text(text, path);
  INFO(path);
  CHECK(text == read_text(path));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Report with_metrics(std::vector<Metric> metrics) {
  Report report = t::machine_sample();
  report.metrics = std::move(metrics);
  return report;
}

}  // namespace

TEST_CASE("the formats show the samples as their golden files do") {
  for (const Report& report : t::all_samples()) {
    const std::string kind = kind_name(report.subject);
    check_golden(terminal(report), kind + ".terminal.txt");
    check_golden(markdown(report), kind + ".md");
  }
  check_golden(csv(t::all_samples()), "all.csv");
}

TEST_CASE("the JSON of every minor version so far is still read and written") {
  for (const Report& report : t::all_samples()) {
    const std::string name = "report-1.0/" + kind_name(report.subject) + ".json";
    check_golden(to_json(report), name);
    const std::string path = std::string(PLIMSOLL_SOURCE_DIR) + "/tests/golden/" + name;
    CHECK(to_json(read_report(path)) == to_json(report));
  }
}

TEST_CASE("the raw and the drift-corrected figure of a tier are told apart everywhere") {
  Report report = t::all_samples().back();
  for (const Report& sample : t::all_samples()) {
    if (kind_name(sample.subject) == "validation") report = sample;
  }
  report.metrics.clear();
  for (const bool corrected : {false, true}) {
    Metric metric;
    metric.name = "validation.error_median";
    metric.params = {{"tier", std::string("analytic")}, {"corrected", corrected}};
    metric.unit = "1";
    metric.value = corrected ? 0.25 : 0.125;
    report.metrics.push_back(metric);
  }
  CHECK(has(terminal(report), "12.5 %  analytic\n"));
  CHECK(has(terminal(report), "25.0 %  analytic, drift-corrected\n"));
  CHECK(has(markdown(report), "25.0 %  analytic, drift-corrected"));
  const std::string page = html_page({report});
  CHECK(has(page, "<td>analytic</td><td class=\"num\">0.1250</td>"));
  CHECK(has(page, "<td>analytic, drift-corrected</td><td class=\"num\">0.2500</td>"));
}

TEST_CASE("the table of formats names each once, and each writes something") {
  for (const Format& format : formats()) {
    INFO(format.name);
    CHECK(format.suffix.starts_with("."));
    CHECK(has(format.write(t::all_samples()), "node-a"));
  }
}

TEST_CASE("numbers for people have three digits and a fitting prefix") {
  CHECK(human(95.34e-9, "s") == "95.3 ns");
  CHECK(human(0.2e-9, "s") == "0.2000 ns");
  CHECK(human(999.96e-9, "s") == "1.00 us");
  CHECK(human(0.0128, "s") == "12.8 ms");
  CHECK(human(75, "s") == "75.0 s");
  CHECK(human(0, "s") == "0 s");
  CHECK(human(-0.0025, "s") == "-2.50 ms");
  CHECK(human(4096, "B") == "4 KiB");
  CHECK(human(1000, "B") == "1000 B");
  CHECK(human(26214400, "B") == "25 MiB");
  CHECK(human(1.234e10, "B/s") == "12.3 GB/s");
  CHECK(human(9.87e10, "FLOP/s") == "98.7 GFLOP/s");
  CHECK(human(1.31e12, "FLOP/s") == "1.31 TFLOP/s");
  CHECK(human(19540, "1/s") == "19540 /s");
  CHECK(human(0.97, "1") == "0.9700");
  CHECK(human(2.1e9, "Hz") == "2.10 GHz");
  CHECK(human(41, "degC") == "41.0 degC");
  CHECK(human(1e-300, "s") == "1e-291 ns");
  CHECK(human_interval(95.3e-9, 94e-9, 1.02e-7, "s") == "95.3 ns [94.0 .. 102]");
  CHECK(human_range(1e9, 9.87e10, "FLOP/s") == "1.00 .. 98.7 GFLOP/s");
  CHECK(human_range(2e-9, 1e-7, "s") == "2.00 .. 100 ns");
  CHECK(human_range(2e-9, 1e-6, "s") == "2.00 ns .. 1.00 us");
  CHECK(human_percent(0.0312) == "3.1 %");
  CHECK(human_percent(0.0312, true) == "+3.1 %");
  CHECK(human_percent(-0.2, true) == "-20.0 %");
}

TEST_CASE("CSV quotes what RFC 4180 wants quoted, and keeps every digit") {
  Metric metric{.name = "a.b",
                .params = {{"text", std::string("a,\"b\"\nc")}, {"flag", true}},
                .unit = "s",
                .status = Status::failed,
                .reason = "x, y"};
  Metric number{.name = "a.c", .unit = "s", .value = 0.1 + 0.2};
  const std::string text = csv({with_metrics({metric, number})});
  CHECK(has(text, ",a.b,true,\"a,\"\"b\"\"\nc\",s,none,failed,\"x, y\",,median,"));
  CHECK(has(text, ",a.c,,,s,none,ok,,0.30000000000000004,"));
  CHECK(text.ends_with("\r\n"));
  const std::string header = text.substr(0, text.find("\r\n"));
  CHECK(std::count(header.begin(), header.end(), ',') == 21);
}

TEST_CASE("a long sweep becomes one row a group with its range") {
  std::vector<Metric> metrics;
  for (int i = 0; i < 100; ++i) {
    metrics.push_back({.name = "kernel.matmul.rate",
                       .params = {{"m", std::int64_t{i}}, {"dtype", i < 50 ? "f32" : "bf16"}},
                       .unit = "FLOP/s",
                       .value = 1e9 * (i + 1)});
  }
  metrics[3].value.reset();
  metrics[3].status = Status::failed;
  metrics[3].reason = "wrong answer";
  const std::string text = terminal(with_metrics(metrics));
  CHECK(has(text, "dtype f32   1.00 .. 50.0 GFLOP/s  49 values, 1 without a number"));
  CHECK(has(text, "dtype bf16   51.0 .. 100 GFLOP/s  50 values"));
}

TEST_CASE("text from a report cannot drive a terminal or break a table") {
  Report report = t::machine_sample();
  report.environment.hostname = "a\x1b[31mb";
  report.metrics[5].reason = "a | b <script>\nnext";
  CHECK_FALSE(has(terminal(report), "\x1b"));
  CHECK(has(terminal(report), "a?[31mb"));
  CHECK(has(markdown(report), "skipped: a \\| b &lt;script> next |"));
}

TEST_CASE("reports with nothing in them are shown, not refused") {
  for (const Subject& subject : {Subject(MachineSubject{}), Subject(Prediction{}), Subject(Run{}),
                                 Subject(Validation{}), Subject(Comparison{})}) {
    Report report;
    report.subject = subject;
    CHECK(has(terminal(report), kind_name(subject)));
    CHECK(has(markdown(report), kind_name(subject)));
  }
  CHECK(csv({}).starts_with("report_id,"));
}
