// Shared parts of the Vega-Lite specifications. Data rows carry the numbers of an axis in its
// display unit, and ready-made texts for the tooltip.

#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/record.hpp"

namespace plimsoll::reports {

using Json = nlohmann::ordered_json;

// --- Reading metrics -----------------------------------------------------------------------------
[[nodiscard]] std::string text_param(const Metric& metric, const std::string& key);  // "" if absent
[[nodiscard]] std::optional<double> number_param(const Metric& metric, const std::string& key);
// The metrics of that name which have a positive, finite value.
[[nodiscard]] std::vector<const Metric*> measured(const Report& report, const std::string& name);
[[nodiscard]] double low_of(const Metric& metric);  // of the interval, else the value
[[nodiscard]] double high_of(const Metric& metric);
[[nodiscard]] std::string interval_text(const Metric& metric);  // "[90.0 .. 97.0 ns]" or ""

// --- Ranges of logarithmic axes ------------------------------------------------------------------
struct Range {
  double low = 0, high = 0;
  void include(double value);  // positive, finite values only; others are ignored
  [[nodiscard]] bool empty() const { return !(high > 0); }
};

// --- Parts of a specification --------------------------------------------------------------------
[[nodiscard]] Json log_axis(const Range& range, const std::string& field, const std::string& title);
[[nodiscard]] Json bytes_axis(const Range& range, const std::string& field,
                              const std::string& title);
// A nominal channel (colour, shape, strokeDash) whose entries keep the given order; title "" hides.
[[nodiscard]] Json nominal(const std::string& field, const std::string& title,
                           const std::vector<std::string>& order);
// An axis in percent with a sign, zero without.
[[nodiscard]] Json signed_axis(const std::string& field, const std::string& title);
[[nodiscard]] Json zero_rule();
[[nodiscard]] Json tooltip(const std::vector<std::string>& fields);  // field names are the labels
[[nodiscard]] Json view(Json data, Json layers, int height);
// Facets of `layers` by `field`, at most `columns` beside one another, on one scale (shared) or
// each on its own. charts.js fits the width; `room` is what the labels of a vertical axis take
// (pixels).
struct Facets {
  std::string field;
  std::vector<std::string> order;
  int columns = 1, height = 280, room = 62;
  bool shared = true;
};
[[nodiscard]] Json facets(Json data, const Facets& how, Json layers);
[[nodiscard]] std::string dumped(const Json& spec);

// Appends unless it is there.
void add_once(std::vector<std::string>& list, const std::string& entry);

}  // namespace plimsoll::reports
