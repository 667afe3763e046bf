// The page in a real browser: headless Chromium draws every chart, without a console message, in
// light and dark, and prints with its tables open. Skipped where there is no Chromium.

#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "core/system/process.hpp"
#include "reports/format/html.hpp"
#include "reports/page/chart.hpp"
#include "reports/report.hpp"
#include "tests/catch.hpp"
#include "tests/reports/page/sample_reports.hpp"
#include "tools/plimsoll/scratch.hpp"

namespace plimsoll::reports {
namespace {

std::string chromium() {
  for (const char* path :
       {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}) {
    if (std::filesystem::exists(path)) return path;
  }
  return "";
}

// True when the test cannot run here; says why in the words that count as skipped.
bool skipped() {
  if (!html_has_charts()) {
    std::puts("SKIPPED: built without charts (npm missing or without a registry)");
    return true;
  }
  if (chromium().empty()) {
    std::puts("SKIPPED: no chromium here");
    return true;
  }
  return false;
}

struct Visit {
  std::string out;      // of the browser: the document where it was asked for
  std::string console;  // what the page wrote to the console
};

Visit visit(const std::string& folder, const std::string& file,
            const std::vector<std::string>& flags) {
  sys::ChildOptions options;
  options.argv = {chromium(),
                  "--headless",
                  "--no-sandbox",
                  "--disable-gpu",
                  "--disable-quic",
                  "--no-first-run",
                  "--disable-background-networking",
                  "--disable-component-update",
                  "--disable-sync",
                  "--disable-dev-shm-usage",
                  "--hide-scrollbars",
                  "--enable-logging=stderr",
                  "--user-data-dir=" + folder + "/profile",
                  "--virtual-time-budget=20000"};
  options.argv.insert(options.argv.end(), flags.begin(), flags.end());
  options.argv.push_back("file://" + file);
  options.capture_out = options.capture_err = true;
  options.timeout = Seconds(120);
  const sys::ChildResult result = sys::run_child(options);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  Visit out{result.out, ""};
  for (std::size_t at = 0; (at = result.err.find("CONSOLE", at)) != std::string::npos; ++at) {
    out.console += result.err.substr(at, result.err.find('\n', at) - at) + "\n";
  }
  return out;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos;
       at += part.size()) {
    ++found;
  }
  return found;
}

// The element of one chart in a dumped document.
std::string figure(const std::string& document, const std::string& id) {
  const std::size_t begin = document.find("<figure data-chart=\"" + id + "\"");
  if (begin == std::string::npos) return "";
  return document.substr(begin, document.find("</figure>", begin) - begin);
}

// Shapes that stand for data: what Vega puts into groups of marks, axes and legends left out.
std::size_t marks(const std::string& svg) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = svg.find("<g class=\"mark-", at)) != std::string::npos;) {
    const std::size_t end = svg.find("</g>", at);
    const std::string group = svg.substr(at, end - at);
    at = end;
    const bool data = group.find("role-mark") != std::string::npos;
    if (data) found += count(group, "<path") + count(group, "<line") + count(group, "<text");
  }
  return found;
}

std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The colour of the upper left pixel of a PNG: unfiltered whatever the filter of the first row.
std::array<int, 3> corner(const std::string& png) {
  const std::size_t at = png.find("IDAT");
  REQUIRE(at != std::string::npos);
  std::string data = png.substr(at + 4);
  std::array<unsigned char, 4> head{};
  z_stream stream{};
  REQUIRE(inflateInit(&stream) == Z_OK);
  stream.next_in = reinterpret_cast<unsigned char*>(data.data());
  stream.avail_in = static_cast<unsigned int>(data.size());
  stream.next_out = head.data();
  stream.avail_out = head.size();
  inflate(&stream, Z_SYNC_FLUSH);
  const bool filled = stream.avail_out == 0;
  inflateEnd(&stream);
  REQUIRE(filled);
  return {head[1], head[2], head[3]};
}

std::size_t pages(const std::string& pdf) {
  return count(pdf, "/Type /Page") - count(pdf, "/Type /Pages");
}

}  // namespace

TEST_CASE("every chart is drawn, named for screen readers, and the console stays silent") {
  if (skipped()) return;
  const tools::ScratchDirectory scratch;
  const std::string file = scratch.path() + "/report.html";
  const std::vector<Report> all = testing::sample_reports();
  write_text(html_page(all), file);
  const Visit seen = visit(scratch.path(), file, {"--window-size=1200,900", "--dump-dom"});
  CHECK(seen.console == "");
  for (const Chart& chart : charts(all)) {
    INFO(chart.id);
    const std::string drawn = figure(seen.out, chart.id);
    CHECK(drawn.find("data-drawn=\"yes\"") != std::string::npos);
    const std::size_t begin = drawn.find("<svg");
    REQUIRE(begin != std::string::npos);
    const std::string svg = drawn.substr(begin, drawn.find("</svg>", begin) - begin);
    CHECK(svg.find("role=\"img\"") != std::string::npos);
    CHECK(svg.find("-title\">" + chart.title + "</title>") != std::string::npos);
    CHECK(svg.find("<desc") != std::string::npos);
    if (chart.id == "load-latency") CHECK(svg.find(">4 KiB pages</text>") != std::string::npos);
    if (chart.id == "stream-bandwidth") CHECK(svg.find(">triad</text>") != std::string::npos);
    if (chart.id == "all-reduce") CHECK(svg.find(">ring (threads)</text>") != std::string::npos);
    // A curve is one path however many rows it has; everything else draws at least a mark a row.
    const std::size_t least = chart.id == "loss" ? 12 : chart.table.rows.size();
    CHECK(marks(svg) >= least);
  }
}

TEST_CASE("a narrow window draws the same charts") {
  if (skipped()) return;
  const tools::ScratchDirectory scratch;
  const std::string file = scratch.path() + "/report.html";
  write_text(html_page({testing::sample_machine()}), file);
  const Visit seen = visit(scratch.path(), file, {"--window-size=500,900", "--dump-dom"});
  CHECK(seen.console == "");
  CHECK(count(seen.out, "data-drawn=\"yes\"") == 4);
}

TEST_CASE("a chart that cannot be drawn says so and leaves the others alone") {
  if (skipped()) return;
  const tools::ScratchDirectory scratch;
  const std::string file = scratch.path() + "/report.html";
  std::string page = html_page({testing::sample_machine()});
  const std::size_t at = page.find("\"type\":\"line\"");
  REQUIRE(at != std::string::npos);
  page.replace(at, 13, "\"type\":\"lies\"");
  write_text(page, file);
  const Visit seen = visit(scratch.path(), file, {"--dump-dom"});
  CHECK(count(seen.out, "data-drawn=\"failed\"") == 1);
  CHECK(count(seen.out, "data-drawn=\"yes\"") == 3);
  CHECK(seen.console != "");
}

TEST_CASE("hostile texts are shown, not executed") {
  if (skipped()) return;
  const tools::ScratchDirectory scratch;
  const std::string file = scratch.path() + "/report.html";
  const std::string evil =
      "</script><script>document.title='taken'</script><img src=x "
      "onerror=\"document.title='taken'\">";
  Report machine = testing::sample_machine();
  machine.environment.hostname = evil;
  for (Metric& metric : machine.metrics) {
    if (metric.params.contains("page")) metric.params["page"] = evil;
    if (metric.params.contains("kernel")) metric.params["kernel"] = evil;
  }
  write_text(html_page({machine}, "honest"), file);
  const Visit seen = visit(scratch.path(), file, {"--dump-dom"});
  CHECK(seen.out.find("<title>honest</title>") != std::string::npos);
  // As an element it would be written with its attribute quoted; inside a label it is only text.
  CHECK(seen.out.find("<img src=\"x\"") == std::string::npos);
  CHECK(seen.console == "");
}

TEST_CASE("a script that was put into the file afterwards does not run") {
  if (skipped()) return;
  const tools::ScratchDirectory scratch;
  const std::string file = scratch.path() + "/report.html";
  std::string page = html_page({testing::sample_machine()}, "honest");
  page.insert(page.find("<main>"), "<script>document.title='taken'</script>");
  write_text(page, file);
  const Visit seen = visit(scratch.path(), file, {"--dump-dom"});
  CHECK(seen.out.find("<title>honest</title>") != std::string::npos);
  CHECK(seen.console.find("Content Security Policy") != std::string::npos);
}

TEST_CASE("the page is light or dark as the system asks") {
  if (skipped()) return;
  const tools::ScratchDirectory scratch;
  const std::string file = scratch.path() + "/report.html";
  write_text(html_page({testing::sample_machine()}), file);
  const std::string light = scratch.path() + "/light.png", dark = scratch.path() + "/dark.png";
  CHECK(visit(scratch.path(), file, {"--screenshot=" + light}).console == "");
  CHECK(visit(scratch.path(), file,
              {"--screenshot=" + dark, "--blink-settings=preferredColorScheme=0"})
            .console == "");
  CHECK(corner(file_bytes(light)) == std::array<int, 3>{0xff, 0xff, 0xff});
  CHECK(corner(file_bytes(dark)) == std::array<int, 3>{0x11, 0x17, 0x1d});
}

TEST_CASE("print opens the tables") {
  if (skipped()) return;
  const tools::ScratchDirectory scratch;
  const std::string file = scratch.path() + "/report.html",
                    closed = scratch.path() + "/closed.html";
  std::string page = html_page({testing::sample_machine()});
  write_text(page, file);
  page.replace(page.find("'beforeprint'"), 13, "'neverhappen'");
  write_text(page, closed);
  const std::string pdf = scratch.path() + "/print.pdf";
  visit(scratch.path(), file, {"--print-to-pdf=" + pdf});
  const std::size_t with_tables = pages(file_bytes(pdf));
  // Changing the script breaks its hash: the tables then stay closed, which is what is compared.
  visit(scratch.path(), closed, {"--print-to-pdf=" + pdf});
  const std::size_t without = pages(file_bytes(pdf));
  CHECK(without >= 2);
  CHECK(with_tables >= without + 4);
}

}  // namespace plimsoll::reports
