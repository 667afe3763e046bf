// CSV after RFC 4180: one row a metric, SI base units, one column for each parameter that occurs.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/format/format.hpp"
#include "reports/json_fields.hpp"

namespace plimsoll::reports {
namespace {

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string text_of(const ParamValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  return number(std::get<double>(value));
}

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

void add_row(const std::vector<std::string>& fields, std::string& out) {
  for (std::size_t i = 0; i < fields.size(); ++i) out += (i == 0 ? "" : ",") + quoted(fields[i]);
  out += "\r\n";
}

std::vector<std::string> row_of(const Report& report, const Metric& m,
                                const std::set<std::string>& params) {
  std::vector<std::string> row = {report.id, kind_name(report.subject), report.created,
                                  report.environment.hostname, m.name};
  for (const std::string& key : params) {
    const auto at = m.params.find(key);
    row.push_back(at == m.params.end() ? "" : text_of(at->second));
  }
  const bool has = m.interval.has_value();
  for (const std::string& field :
       {m.unit, std::string(word(m.better)), std::string(word(m.status)), m.reason, number(m.value),
        std::string(word(m.estimator)), has ? number(m.interval->low) : "",
        has ? number(m.interval->high) : "", has ? number(m.interval->confidence) : "",
        has ? m.interval->method : "", fmt::format("{}", m.samples.size()),
        m.ceiling ? number(m.ceiling->value) : "",
        std::string(!m.checked   ? ""
                    : *m.checked ? "true"
                                 : "false"),
        std::string(word(m.kind)), m.source}) {
    row.push_back(field);
  }
  return row;
}

}  // namespace

std::string csv(const std::vector<Report>& reports) {
  std::set<std::string> params;
  for (const Report& report : reports) {
    for (const Metric& metric : report.metrics) {
      for (const auto& [key, value] : metric.params) params.insert(key);
    }
  }
  std::vector<std::string> header = {"report_id", "report_kind", "created", "hostname", "name"};
  for (const std::string& key : params) header.push_back("params." + key);
  for (const char* column :
       {"unit", "better", "status", "reason", "value", "estimator", "low", "high", "confidence",
        "interval_method", "sample_count", "ceiling", "checked", "kind", "source"}) {
    header.emplace_back(column);
  }
  std::string out;
  add_row(header, out);
  for (const Report& report : reports) {
    for (const Metric& metric : report.metrics) add_row(row_of(report, metric, params), out);
  }
  return out;
}

}  // namespace plimsoll::reports
