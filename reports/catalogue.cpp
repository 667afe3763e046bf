// The catalogue as JSON, and a probe's description back from it.

#include "reports/catalogue.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "reports/json_value.hpp"

namespace plimsoll::reports {
namespace {

using Json = nlohmann::ordered_json;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kIndent = 2;

std::string dump(const Json& json) {
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace);
}

std::string text_in(const Document& document, const Value& object, std::string_view key) {
  const Value* const value = object.find(key);
  if (value == nullptr || value->type != Value::Type::string) {
    throw Error("\"" + std::string(key) + "\" is missing or not a string",
                document.place(object.offset), "rebuild the probe: it is older than this program");
  }
  return value->text;
}

double number_in(const Value& object, std::string_view key, double otherwise) {
  const Value* const value = object.find(key);
  const bool number =
      value != nullptr && (value->type == Value::Type::integer || value->type == Value::Type::real);
  return number ? value->real : otherwise;
}

}  // namespace

std::string to_json(const ProbeDescription& probe) {
  Json metrics = Json::array();
  for (const MetricDescription& metric : probe.metrics) {
    Json entry{{"name", metric.name}, {"unit", metric.unit}, {"meaning", metric.meaning}};
    if (std::isfinite(metric.at_least)) entry["at_least"] = metric.at_least;
    if (std::isfinite(metric.at_most)) entry["at_most"] = metric.at_most;
    metrics.push_back(std::move(entry));
  }
  return dump({{"id", probe.id},
               {"question", probe.question},
               {"method", probe.method},
               {"metrics", std::move(metrics)}});
}

ProbeDescription probe_description_from_json(std::string_view text, const std::string& where) {
  const Document document = parse_json(text, where);
  ProbeDescription probe{.id = text_in(document, document.root, "id"),
                         .question = text_in(document, document.root, "question"),
                         .method = text_in(document, document.root, "method"),
                         .metrics = {}};
  const Value* const metrics = document.root.find("metrics");
  if (metrics == nullptr) return probe;
  for (const Value& metric : metrics->items) {
    probe.metrics.push_back({.name = text_in(document, metric, "name"),
                             .unit = text_in(document, metric, "unit"),
                             .meaning = text_in(document, metric, "meaning"),
                             .at_least = number_in(metric, "at_least", -kInfinity),
                             .at_most = number_in(metric, "at_most", kInfinity)});
  }
  return probe;
}

std::string to_json(const std::vector<Entry>& entries) {
  Json all = Json::array();
  for (const Entry& entry : entries) {
    Json json{{"id", entry.id}, {"kind", entry.kind}};
    if (!entry.unit.empty()) json["unit"] = entry.unit;
    json["meaning"] = entry.meaning;
    if (!entry.formula.empty()) json["formula"] = entry.formula;
    if (!entry.source.empty()) json["source"] = entry.source;
    all.push_back(std::move(json));
  }
  return dump(all);
}

}  // namespace plimsoll::reports
