// Header, findings, charts and tables of the page.

#include "reports/page/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "reports/format/html_text.hpp"
#include "reports/format/summary.hpp"
#include "reports/format/units.hpp"
#include "reports/page/spec.hpp"

namespace plimsoll::reports {
namespace {

std::string severity_word(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "info";
}

std::string status_word(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::skipped:
      return "skipped";
    case Status::failed:
      return "failed";
    case Status::implausible:
      return "implausible";
  }
  return "";
}

std::string kind_word(Kind kind) {
  switch (kind) {
    case Kind::datasheet:
      return "datasheet";
    case Kind::measured:
      return "measured";
    case Kind::fitted:
      return "fitted";
    case Kind::assumed:
      return "assumed";
    case Kind::imported:
      return "imported";
  }
  return "";
}

constexpr std::size_t kNotesShown = 3;

std::string finding_html(const Finding& finding, std::size_t reports) {
  const std::string word = severity_word(finding.severity);
  std::string out = fmt::format(
      "<li class=\"{0}\"><p><span class=\"word\">{0}</span> <code>{1}</code>{2}</p><p>{3}</p>",
      word, escaped(finding.id),
      reports > 1 ? fmt::format(" <span class=\"muted\">in {} reports</span>", reports) : "",
      escaped(finding.message));
  if (!finding.effect.empty()) {
    out += "<p class=\"muted\">Effect: " + escaped(finding.effect) + "</p>";
  }
  if (!finding.fix.empty()) out += "<p class=\"fix\">Fix: " + escaped(finding.fix) + "</p>";
  return out + "</li>\n";
}

std::string figure_html(const Chart& chart, bool drawn) {
  const bool shown = drawn && !chart.spec.empty();
  std::string spec = chart.spec;
  for (std::size_t at = 0; (at = spec.find('<', at)) != std::string::npos;) {
    spec.replace(at, 1, "\\u003c");
  }
  std::string out = "<figure";
  if (shown) {
    out += fmt::format(" data-chart=\"{}\" data-title=\"{}\" data-description=\"{}\"",
                       escaped(chart.id), escaped(chart.title), escaped(chart.description));
  }
  out += fmt::format(" id=\"{}\">\n<figcaption><h3>{}</h3><p>{}</p></figcaption>\n",
                     escaped(chart.id), escaped(chart.title), escaped(chart.description));
  if (shown) {
    out += fmt::format(
        "<div class=\"chart\" tabindex=\"0\"></div>\n<noscript><p class=\"off\">Charts need "
        "JavaScript; the table has the same numbers.</p></noscript>\n<script "
        "type=\"application/json\">{}</script>\n",
        spec);
  }
  return out + fmt::format("<details{}><summary>Data: {}</summary>\n{}</details>\n</figure>\n",
                           shown ? "" : " open", counted(chart.table.rows.size(), "row"),
                           table_html(chart.table));
}

}  // namespace

std::string report_id(std::size_t index) { return fmt::format("report-{}", index + 1); }

std::string table_html(const Table& table) {
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\"><table "
      "data-name=\"{}\"><caption>{}</caption><thead><tr>",
      escaped(table.name), escaped("One row: " + table.caption));
  for (const Column& column : table.columns) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", column.number ? " class=\"num\"" : "",
                       escaped(column.title));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool number = i < table.columns.size() && table.columns[i].number;
      out += fmt::format("<td{}>{}</td>", number ? " class=\"num\"" : "", escaped(row[i]));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string header_section(const std::string& title, const Reports& reports,
                           const Verdict& verdict) {
  std::string ids, created = reports.front().created;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    ids += (i == 0 ? "" : " ") + report_id(i);
    created = std::max(created, reports[i].created);
  }
  const Environment& env = reports.front().environment;
  std::string out = fmt::format(
      "<header>\n<div class=\"top\"><div><h1>{}</h1>\n<p class=\"muted\">{} · {} · {}</p></div>\n"
      "<div class=\"tools\"><button type=\"button\" id=\"theme\">Theme: auto</button>"
      "<button type=\"button\" data-save=\"{}\">Save JSON</button>"
      "<button type=\"button\" id=\"print\">Print</button></div></div>\n",
      escaped(title), escaped(env.cpu_model), counted(reports.size(), "report"),
      escaped(short_time(created)), ids);
  out += fmt::format("<p class=\"verdict {}\" id=\"verdict\">{}", escaped(verdict.quality),
                     escaped(verdict.sentence));
  out += fmt::format(" <span class=\"word\">Quality of the measurements: {}.</span></p>\n",
                     escaped(verdict.quality));
  if (!verdict.figures.empty()) {
    out += "<dl class=\"figures\">\n";
    for (const Figure& figure : verdict.figures) {
      out += fmt::format("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>\n",
                         escaped(figure.name), escaped(figure.value), escaped(figure.note));
    }
    out += "</dl>\n";
  }
  return out +
         "<nav aria-label=\"Sections\"><a href=\"#findings\">Findings</a><a "
         "href=\"#questions\">Questions</a><a href=\"#measurements\">All measurements</a><a "
         "href=\"#provenance\">Provenance</a><a href=\"#method\">How it was measured</a></nav>\n"
         "</header>\n";
}

std::string findings_section(const Reports& reports) {
  // The same finding in many reports is one finding; the worst come first.
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, std::size_t> seen;
  std::vector<std::pair<Finding, std::size_t>> list;
  for (const Report& report : reports) {
    for (const Finding& finding : report.findings) {
      const auto [place, fresh] =
          seen.try_emplace(Key{finding.id, finding.message, finding.fix}, list.size());
      if (fresh) list.emplace_back(finding, 0);
      ++list[place->second].second;
    }
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return static_cast<int>(a.first.severity) > static_cast<int>(b.first.severity);
  });
  std::string out = "<section id=\"findings\"><h2>Findings</h2>\n";
  if (list.empty())
    return out + "<p>Nothing was found that would spoil these results.</p></section>\n";
  std::string cards, notes;
  std::size_t note_count = 0;
  for (const auto& [finding, count] : list) {
    const bool note = finding.severity == Severity::info;
    note_count += note ? 1 : 0;
    (note ? notes : cards) += finding_html(finding, count);
  }
  if (!cards.empty()) out += "<ul class=\"findings\">\n" + cards + "</ul>\n";
  // Many notes would push the answers off the first screen.
  if (!notes.empty()) {
    out += fmt::format(
        "<details{}><summary>{}</summary>\n<ul class=\"findings\">\n{}</ul></details>\n",
        note_count <= kNotesShown ? " open" : "", counted(note_count, "note"), notes);
  }
  return out + "</section>\n";
}

std::string chart_section(const std::vector<Chart>& charts, bool drawn) {
  std::string out = "<section id=\"questions\"><h2>Questions</h2>\n";
  if (charts.empty()) return out + "<p>These reports hold no numbers to chart.</p></section>\n";
  if (!drawn) {
    out +=
        "<p class=\"off\" id=\"charts-off\">This copy of plimsoll was built without the chart "
        "script (npm was missing or could not fetch it): tables only.</p>\n";
  }
  out += "<ul>\n";
  for (const Chart& chart : charts) {
    out +=
        fmt::format("<li><a href=\"#{}\">{}</a></li>\n", escaped(chart.id), escaped(chart.title));
  }
  out += "</ul>\n";
  for (const Chart& chart : charts) out += figure_html(chart, drawn);
  return out + "</section>\n";
}

// A tier is said in words, like everywhere else; other parameters as "key=value, ...".
std::string parameters_text(const Metric& metric) {
  const bool judged = metric.name.starts_with("validation.");
  const std::string tier = judged ? tier_words(metric.params) : "";
  return tier.empty() ? joined(metric.params) : tier;
}

std::string measurements_section(const Reports& reports) {
  Table table = {"measurements",
                 "one metric of one report",
                 {{"Report", true},
                  {"Metric"},
                  {"Parameters"},
                  {"Value", true},
                  {"95 % interval", true},
                  {"Samples", true},
                  {"Status"},
                  {"Kind"},
                  {"Source"}},
                 {}};
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (const Metric& metric : reports[i].metrics) {
      std::string status = status_word(metric.status);
      if (!metric.reason.empty()) status += ": " + metric.reason;
      table.rows.push_back({std::to_string(i + 1), metric.name, parameters_text(metric),
                            metric.value ? human(*metric.value, metric.unit) : "",
                            interval_text(metric), std::to_string(metric.samples.size()), status,
                            kind_word(metric.kind), metric.source});
    }
  }
  return fmt::format(
      "<section id=\"measurements\"><h2>All measurements</h2>\n<details data-no-print "
      "id=\"all-measurements\"><summary>{}</summary>\n<p id=\"filter\" hidden><label>Show rows "
      "with "
      "<input type=\"search\" placeholder=\"memory triad\"></label> <span class=\"muted\" "
      "id=\"filter-count\" role=\"status\"></span></p>\n{}</details></section>\n",
      counted(table.rows.size(), "measurement"), table_html(table));
}

}  // namespace plimsoll::reports
