// What this project can say about its own words: the probes that are there, and every metric,
// finding and workload. Probe binaries describe themselves in it; `plimsoll list` and
// `plimsoll explain` print it.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::reports {

struct MetricDescription {
  std::string name, unit, meaning;
  double at_least = 0, at_most = 0;  // the plausible range; infinite: open on that side
};

// What a probe binary answers to --describe.
struct ProbeDescription {
  std::string id, question, method;
  std::vector<MetricDescription> metrics;
};

[[nodiscard]] std::string to_json(const ProbeDescription& probe);
// Errors with line and column, as from_json() of reports.
[[nodiscard]] ProbeDescription probe_description_from_json(std::string_view text,
                                                           const std::string& where);

// One word of the vocabulary. Empty fields do not apply.
struct Entry {
  std::string id;
  std::string kind;  // probe | metric | finding | workload
  std::string unit;
  std::string meaning;
  std::string formula;
  std::string source;  // where its number comes from
};
[[nodiscard]] std::string to_json(const std::vector<Entry>& entries);

}  // namespace plimsoll::reports
