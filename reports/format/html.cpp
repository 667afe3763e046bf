// Puts the page together: head with a strict Content-Security-Policy, sections, the reports
// themselves as JSON, scripts allowed by their hash only.

#include "reports/format/html.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "core/error.hpp"
#include "reports/format/html_text.hpp"
#include "reports/page/assets.hpp"
#include "reports/page/sections.hpp"
#include "reports/report.hpp"

namespace plimsoll::reports {
namespace {

// 'sha256-...' as a Content-Security-Policy names a script.
std::string source_hash(std::string_view script) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  expects(
      EVP_Digest(script.data(), script.size(), digest.data(), &length, EVP_sha256(), nullptr) == 1,
      "SHA-256 of a script");
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> text{};
  const int written = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(length));
  return "'sha256-" +
         std::string(reinterpret_cast<const char*>(text.data()),
                     static_cast<std::size_t>(written)) +
         "'";
}

// Inside <script type="application/json"> nothing but "<" could end the element; in JSON it stands
// only in strings.
std::string embedded_json(std::string json) {
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos;) {
    json.replace(at, 1, "\\u003c");
  }
  return json;
}

std::string head(const std::string& title, bool drawn) {
  std::string scripts = source_hash(page_script());
  if (drawn) scripts += " " + source_hash(chart_script());
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src {}; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>{}</title>\n<style>\n{}</style>\n"
      "</head>\n",
      scripts, escaped(title), page_style());
}

std::string reports_json(const std::vector<Report>& reports) {
  std::string out;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    out += fmt::format(
        "<script type=\"application/json\" id=\"{}\" data-file=\"plimsoll-{}-{}.json\">",
        report_id(i), kind_name(reports[i].subject), escaped(reports[i].id.substr(0, 8)));
    out += embedded_json(to_json(reports[i])) + "</script>\n";
  }
  return out;
}

std::string footer(const Report& first, bool drawn) {
  std::string out = fmt::format(
      "<footer><p>Written by plimsoll {}. This page is one file, fetches nothing and holds the "
      "reports themselves.</p>\n",
      escaped(first.tool.version));
  if (drawn) {
    out += fmt::format(
        "<details data-no-print><summary>Licences of the chart script</summary>\n<pre>{}</pre>"
        "</details>\n",
        escaped(chart_licences()));
  }
  return out + "</footer>\n";
}

}  // namespace

bool html_has_charts() { return !chart_script().empty(); }

std::string html_page(const std::vector<Report>& reports, const std::string& title) {
  expects(!reports.empty(), "a page is made of at least one report");
  const bool drawn = html_has_charts();
  const std::string shown = title.empty() ? title_of(reports) : title;
  std::string out = head(shown, drawn);
  out += "<body>\n<a class=\"skip\" href=\"#questions\">Skip to the charts</a>\n";
  out += header_section(shown, reports, verdict_of(reports));
  out += "<main>\n" + findings_section(reports) + chart_section(charts(reports), drawn);
  out += measurements_section(reports) + provenance_section(reports) + method_section(reports);
  out += "</main>\n" + footer(reports.front(), drawn) + reports_json(reports);
  out += "<script>";
  out += page_script();
  out += "</script>\n";
  if (drawn) {
    out += "<script>";
    out += chart_script();
    out += "</script>\n";
  }
  return out + "</body>\n</html>\n";
}

}  // namespace plimsoll::reports
