// Shared parts of the Vega-Lite specifications.

#include "reports/page/spec.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reports/format/html_text.hpp"
#include "reports/format/units.hpp"

namespace plimsoll::reports {
namespace {

constexpr const char* kSizeLabel =
    "datum.value < 1024 ? format(datum.value, '~r') + ' B' : "
    "datum.value < 1048576 ? format(datum.value / 1024, '~r') + ' KiB' : "
    "datum.value < 1073741824 ? format(datum.value / 1048576, '~r') + ' MiB' : "
    "format(datum.value / 1073741824, '~r') + ' GiB'";

// 1, 2, 5, 10, ...; powers of ten when the range is wide, more between when it is narrow.
std::vector<double> decimal_ticks(const Range& range) {
  const double decades = std::log10(range.high / range.low);
  std::vector<double> steps = {1, 2, 5};
  if (decades > 4) steps = {1};
  if (decades < 1) steps = {1, 1.5, 2, 3, 4, 5, 6, 8};
  std::vector<double> ticks;
  for (int power = static_cast<int>(std::floor(std::log10(range.low)));
       power <= static_cast<int>(std::ceil(std::log10(range.high))); ++power) {
    for (const double step : steps) {
      const double tick = step * std::pow(10, power);
      if (tick >= range.low && tick <= range.high) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::vector<double> binary_ticks(const Range& range) {
  const double octaves = std::log2(range.high / range.low);
  const int stride = octaves > 16 ? 3 : octaves > 7 ? 2 : 1;
  std::vector<double> ticks;
  int power = static_cast<int>(std::ceil(std::log2(range.low)));
  while (power % stride != 0) ++power;
  for (; std::exp2(power) <= range.high; power += stride) ticks.push_back(std::exp2(power));
  return ticks;
}

Json scale(const Range& range, int base) {
  return {{"type", "log"}, {"base", base}, {"nice", false}, {"domain", {range.low, range.high}}};
}

Range padded(Range range, double factor) { return {range.low / factor, range.high * factor}; }

}  // namespace

std::string text_param(const Metric& metric, const std::string& key) {
  const auto found = metric.params.find(key);
  return found == metric.params.end() ? "" : plain(found->second);
}

std::optional<double> number_param(const Metric& metric, const std::string& key) {
  const auto found = metric.params.find(key);
  if (found == metric.params.end()) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(&found->second)) {
    return static_cast<double>(*whole);
  }
  if (const auto* real = std::get_if<double>(&found->second)) return *real;
  return std::nullopt;
}

std::vector<const Metric*> measured(const Report& report, const std::string& name) {
  std::vector<const Metric*> out;
  for (const Metric& metric : report.metrics) {
    if (metric.name == name && metric.value && std::isfinite(*metric.value) && *metric.value > 0) {
      out.push_back(&metric);
    }
  }
  return out;
}

double low_of(const Metric& metric) {
  return metric.interval && metric.interval->low > 0 ? metric.interval->low : *metric.value;
}

double high_of(const Metric& metric) {
  return metric.interval ? metric.interval->high : *metric.value;
}

std::string interval_text(const Metric& metric) {
  if (!metric.interval) return "";
  return "[" + human_range(metric.interval->low, metric.interval->high, metric.unit) + "]";
}

void Range::include(double value) {
  if (!(value > 0) || !std::isfinite(value)) return;
  low = empty() ? value : std::min(low, value);
  high = std::max(high, value);
}

Json log_axis(const Range& range, const std::string& field, const std::string& title) {
  const Range shown = padded(range, 1.15);
  return {
      {"field", field},
      {"type", "quantitative"},
      {"title", title},
      {"scale", scale(shown, 10)},
      {"axis", {{"values", decimal_ticks(shown)}, {"format", "~r"}, {"labelOverlap", "greedy"}}}};
}

Json bytes_axis(const Range& range, const std::string& field, const std::string& title) {
  const Range shown = padded(range, 1.2);
  return {
      {"field", field},
      {"type", "quantitative"},
      {"title", title},
      {"scale", scale(shown, 2)},
      {"axis",
       {{"values", binary_ticks(shown)}, {"labelExpr", kSizeLabel}, {"labelOverlap", "greedy"}}}};
}

Json nominal(const std::string& field, const std::string& title,
             const std::vector<std::string>& order) {
  Json channel = {{"field", field}, {"type", "nominal"}, {"scale", {{"domain", order}}}};
  channel["title"] = title.empty() ? Json(nullptr) : Json(title);
  return channel;
}

Json signed_axis(const std::string& field, const std::string& title) {
  return {
      {"field", field},
      {"type", "quantitative"},
      {"title", title},
      {"axis",
       {{"tickCount", 9}, {"labelExpr", "datum.value === 0 ? '0' : format(datum.value, '+~r')"}}}};
}

Json zero_rule() {
  Json zero = Json::object();
  zero["zero"] = 0;
  return {{"data", {{"values", Json::array({zero})}}},
          {"mark", {{"type", "rule"}, {"strokeWidth", 1.5}, {"color", "var(--axis)"}}},
          {"encoding", {{"x", {{"field", "zero"}, {"type", "quantitative"}}}}}};
}

Json tooltip(const std::vector<std::string>& fields) {
  Json out = Json::array();
  for (const std::string& field : fields) out.push_back({{"field", field}, {"type", "nominal"}});
  return out;
}

Json view(Json data, Json layers, int height) {
  return {{"width", "container"},
          {"height", height},
          {"autosize", {{"type", "fit-x"}, {"contains", "padding"}}},
          {"data", {{"values", std::move(data)}}},
          {"layer", std::move(layers)}};
}

Json facets(Json data, const Facets& how, Json layers) {
  Json spec = {{"usermeta", {{"columns", how.columns}, {"room", how.room}, {"shared", how.shared}}},
               {"data", {{"values", std::move(data)}}},
               {"facet",
                {{"field", how.field},
                 {"type", "nominal"},
                 {"sort", how.order},
                 {"title", nullptr},
                 {"header", {{"labelFontWeight", 600}, {"labelAnchor", "start"}}}}},
               {"columns", how.columns},
               {"spec", {{"height", how.height}, {"layer", std::move(layers)}}}};
  if (!how.shared) {
    spec["resolve"] = {{"scale", {{"x", "independent"}, {"y", "independent"}}}};
  }
  return spec;
}

std::string dumped(const Json& spec) {
  return spec.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void add_once(std::vector<std::string>& list, const std::string& entry) {
  if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(entry);
}

}  // namespace plimsoll::reports
