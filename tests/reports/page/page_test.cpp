// The structure of the page: what must always be there, and what must never be.

#include <cstddef>
#include <regex>
#include <string>
#include <string_view>
#include <variant>

#include "core/error.hpp"
#include "reports/format/html.hpp"
#include "reports/page/chart.hpp"
#include "reports/report.hpp"
#include "tests/catch.hpp"
#include "tests/reports/page/sample_reports.hpp"

namespace plimsoll::reports {
namespace {

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos;
       at += part.size()) {
    ++found;
  }
  return found;
}

// Without the chart bundle, whose own text is not markup.
std::string markup(const std::string& page) {
  const std::size_t scripts = page.find("<script>");
  REQUIRE(scripts != std::string::npos);
  return page.substr(0, scripts);
}

// Addresses that a browser would fetch or follow outside the page.
std::size_t outside_addresses(const std::string& html) {
  const std::regex outside(
      R"re((src|href|action|poster|data)\s*=\s*["']?\s*(https?:|ftp:|file:|//))re"
      R"re(|url\(\s*["']?(?!["']?#)|@import)re",
      std::regex::icase);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(html.begin(), html.end(), outside), {}));
}

std::vector<std::string> embedded_reports(const std::string& page) {
  std::vector<std::string> out;
  const std::string start = "<script type=\"application/json\" id=\"report-";
  for (std::size_t at = 0; (at = page.find(start, at)) != std::string::npos;) {
    const std::size_t begin = page.find('>', at) + 1;
    at = page.find("</script>", begin);
    out.push_back(page.substr(begin, at - begin));
  }
  return out;
}

}  // namespace

TEST_CASE("a page of a whole run answers every question, each with its table") {
  const std::vector<Report> all = testing::sample_reports();
  const std::vector<Chart> list = charts(all);
  const std::vector<std::string> expected = {
      "step-times", "step-errors",  "step-phases",      "limits",          "sensitivity",
      "loss",       "load-latency", "stream-bandwidth", "matmul-roofline", "all-reduce"};
  REQUIRE(list.size() == expected.size());
  const std::string page = markup(html_page(all));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Chart& chart = list[i];
    INFO(chart.id);
    CHECK(chart.id == expected[i]);
    CHECK(!chart.description.empty());
    CHECK(!chart.table.rows.empty());
    for (const auto& row : chart.table.rows) CHECK(row.size() == chart.table.columns.size());
    CHECK(count(page, "<table data-name=\"" + chart.table.name + "\">") == 1);
    CHECK(chart.spec.find("\"values\":[{") != std::string::npos);
  }
  CHECK(count(page, "<figure") == list.size());
  CHECK(count(page, "<figure data-chart=") == (html_has_charts() ? list.size() : 0));
  CHECK((page.find("id=\"charts-off\"") == std::string::npos) == html_has_charts());
}

TEST_CASE("sections stand in the order in which they are read") {
  const std::string page = html_page(testing::sample_reports());
  std::size_t last = 0;
  for (const char* mark : {"id=\"verdict\"", "id=\"findings\"", "id=\"questions\"",
                           "id=\"measurements\"", "id=\"provenance\"", "id=\"method\""}) {
    INFO(mark);
    const std::size_t at = page.find(mark);
    REQUIRE(at != std::string::npos);
    CHECK(at > last);
    last = at;
  }
  CHECK(page.find("Over 12 configurations") != std::string::npos);
  // The warning comes before the information although it was found later.
  CHECK(page.find("limits.memlock") < page.find("cpu.governor"));
  CHECK(page.find("Fix: ulimit -l unlimited") != std::string::npos);
}

TEST_CASE("nothing on the page comes from outside, and scripts are allowed by hash only") {
  const std::string page = html_page(testing::sample_reports());
  CHECK(outside_addresses(markup(page)) == 0);
  // The script builds its references at run time: no address in it but names of standards.
  const std::regex address("https?://([a-z0-9.-]+)");
  for (std::sregex_iterator i(page.begin(), page.end(), address), end; i != end; ++i) {
    const std::string host = (*i)[1];
    INFO(host);
    const bool in_licences = static_cast<std::size_t>(i->position()) < page.find("<script>");
    CHECK(
        (in_licences || host == "www.w3.org" || host == "github.com" || host == "vega.github.io"));
  }
  CHECK(page.find("default-src 'none'") != std::string::npos);
  CHECK(page.find("script-src 'sha256-") != std::string::npos);
  CHECK(page.find("unsafe-eval") == std::string::npos);
  CHECK(page.find("script-src 'unsafe-inline'") == std::string::npos);
  // The check itself can fail.
  CHECK(outside_addresses("<a href=\"https://example.org\">") == 1);
  CHECK(outside_addresses("<style>p { background: url( 'x.png') }</style>") == 1);
  CHECK(outside_addresses("<use href=\"#a\"> url(#clip)") == 0);
}

TEST_CASE("the page holds its reports, and they read back the same") {
  const std::vector<Report> all = testing::sample_reports();
  const std::vector<std::string> texts = embedded_reports(html_page(all));
  REQUIRE(texts.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(to_json(from_json(texts[i], "page")) == to_json(all[i]));
  }
}

TEST_CASE("texts of a report cannot become markup") {
  const std::string evil =
      "</script><script>document.title='taken'</script><img src=x onerror=a()>";
  Report machine = testing::sample_machine();
  machine.environment.hostname = evil;
  machine.environment.cpu_model = "\"><b onmouseover='a()'>";
  machine.command.argv.push_back(evil);
  machine.findings.push_back({evil, Severity::error, evil, evil, evil});
  machine.metrics.front().name = evil;
  machine.metrics.front().params["page"] = evil;
  machine.metrics[1].params["page"] = evil;
  machine.quality.verdict = "noisy";
  const std::string page = html_page({machine}, evil);
  const std::size_t scripts = html_has_charts() ? 2 : 1;
  CHECK(count(page, "<script>") == scripts);
  CHECK(count(markup(page), "<img") == 0);
  CHECK(count(markup(page), "<b ") == 0);
  CHECK(page.find("&lt;img src=x onerror=a()&gt;") != std::string::npos);
  const std::vector<std::string> texts = embedded_reports(page);
  REQUIRE(texts.size() == 1);
  CHECK(from_json(texts[0], "page").environment.hostname == evil);
}

TEST_CASE("control characters and broken UTF-8 leave a page that is text") {
  Report machine = testing::sample_machine();
  machine.environment.hostname = std::string("n\0o\x01", 4) + "de\xff\xe9-7";
  const std::string page = html_page({machine});
  CHECK(page.find('\0') == std::string::npos);
  CHECK(page.find('\x01') == std::string::npos);
}

TEST_CASE("every kind alone makes a page") {
  for (const Report& report : testing::sample_reports()) {
    const std::string kind = kind_name(report.subject);
    INFO(kind);
    const std::string page = html_page({report});
    CHECK(page.find("<h1>") != std::string::npos);
    if (kind == "prediction") CHECK(page.find("is predicted to take") != std::string::npos);
    if (kind == "run") CHECK(page.find(": a training step took") != std::string::npos);
    if (kind == "machine") CHECK(page.find("5 of 6 probes succeeded") != std::string::npos);
  }
  Report comparison = testing::sample_machine();
  comparison.subject = Comparison{};
  comparison.metrics.clear();
  CHECK(html_page({comparison}).find("no step time and no probe") != std::string::npos);
}

TEST_CASE("a prediction and the run that names it are joined without a validation") {
  const std::vector<Report> all = testing::sample_reports();
  std::vector<Report> pair;
  for (const Report& report : all) {
    const bool prediction = std::holds_alternative<Prediction>(report.subject);
    const bool run = std::holds_alternative<Run>(report.subject);
    if ((prediction && pair.empty()) || (run && pair.size() == 1)) pair.push_back(report);
  }
  REQUIRE(pair.size() == 2);
  const std::vector<Chart> list = charts(pair);
  REQUIRE(!list.empty());
  CHECK(list.front().id == "step-times");
  REQUIRE(list.front().table.rows.size() == 1);
  CHECK(!list.front().table.rows[0][5].empty());
  CHECK(html_page(pair).find("missed the measured step time by") != std::string::npos);
}

TEST_CASE("two machines have their own charts with their own names") {
  Report other = testing::sample_machine();
  other.environment.hostname = "other-node";
  other.id.back() = '9';
  const std::vector<Chart> list = charts({testing::sample_machine(), other});
  REQUIRE(list.size() == 8);
  CHECK(list[0].id == "load-latency-1");
  CHECK(list[4].id == "load-latency-2");
  CHECK(list[4].title.find("other-node") != std::string::npos);
}

TEST_CASE("numbers that were not measured are not charted") {
  Report machine = testing::sample_machine();
  for (Metric& metric : machine.metrics) {
    metric.value.reset();
    metric.interval.reset();
    metric.samples.clear();
    metric.summary.clear();
    metric.status = Status::failed;
    metric.reason = "wrong answer";
  }
  CHECK(charts({machine}).empty());
  const std::string page = html_page({machine});
  CHECK(page.find("hold no numbers to chart") != std::string::npos);
  CHECK(page.find("failed: wrong answer") != std::string::npos);
}

TEST_CASE("the lock file pins contents, not a registry") {
  const std::string folder = std::string(PLIMSOLL_SOURCE_DIR) + "/reports/page";
  const std::string lock = read_text(folder + "/package-lock.json");
  CHECK(count(lock, "\"integrity\": \"sha512-") > 50);
  CHECK(lock.find("\"resolved\"") == std::string::npos);
  CHECK(lock.find("://") == std::string::npos);
}

}  // namespace plimsoll::reports
