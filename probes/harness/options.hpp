// What the user of a probe binary may say on its command line.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.hpp"
#include "probes/probe.hpp"

namespace plimsoll::probes {

enum class Action { measure, list, describe, help };

struct HarnessOptions {
  Action action = Action::measure;
  ProbeOptions probe;
  std::string out;     // our report: a path, "-" for stdout, or empty
  std::string filter;  // over case names; a leading '-' keeps what does not match
  std::optional<Seconds> max_time;
  std::uint64_t seed = 1;  // of the order within a round
  // As in Google Benchmark.
  std::optional<std::int64_t> repetitions;  // exactly this many samples a case
  std::optional<Seconds> sample_time;       // --benchmark_min_time: how long one sample takes
  bool dry_run = false;                     // one operation, one sample a case
  std::string benchmark_out;                // its JSON: a path or empty
  bool benchmark_stdout = false;            // --benchmark_format=json
  bool aggregates_only = false;
  std::vector<std::pair<std::string, std::string>> context;
};

// Errors (usage) name the flag, what it was given and what it takes.
[[nodiscard]] HarnessOptions parse_options(const std::vector<std::string>& arguments);
[[nodiscard]] std::string options_help(const ProbeInfo& info);

// "4096", "64K", "256MiB", "1G": bytes; K, M, G, T are binary, a trailing B or iB is allowed.
[[nodiscard]] std::int64_t parse_size(const std::string& text, const std::string& flag);
[[nodiscard]] std::string level_name(Level level);

// The names that the filter keeps. Errors (usage): not a regular expression.
[[nodiscard]] std::vector<bool> filter_names(const std::vector<std::string>& names,
                                             const std::string& filter);

}  // namespace plimsoll::probes
