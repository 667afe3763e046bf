// A table of flags, "--name value" and "--name=value" alike. Nothing wrong is replaced by a
// default.

#include "probes/harness/options.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <regex>
#include <string_view>

#include "core/error.hpp"

namespace plimsoll::probes {
namespace {

using Setter = void (*)(HarnessOptions&, const std::string& flag, const std::string& value);
struct Flag {
  std::string_view name;
  bool takes_value;  // a flag without one still accepts "=true" and "=false"
  Setter set;
};

template <class Number>
Number parse_number(const std::string& text, const std::string& flag, const char* wants) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw usage_error("'" + text + "' is not a number", flag, wants);
  }
  return number;
}

// Upstream writes "0.01s"; Debian's version takes "0.01": both are accepted.
Seconds parse_seconds(std::string text, const std::string& flag) {
  if (text.size() > 1 && text.back() == 's') text.pop_back();
  const auto value = parse_number<double>(text, flag, "give seconds, for instance 0.5 or 0.5s");
  if (!std::isfinite(value) || value <= 0) {
    throw usage_error("'" + text + "' is not a positive time", flag, "give seconds above zero");
  }
  return Seconds(value);
}

bool parse_switch(const std::string& text, const std::string& flag) {
  if (text == "true" || text == "1" || text == "yes") return true;
  if (text == "false" || text == "0" || text == "no") return false;
  throw usage_error("'" + text + "' is neither true nor false", flag, "give true or false");
}

void set_level(HarnessOptions& options, const std::string& flag, const std::string& value) {
  for (const Level level : {Level::quick, Level::standard, Level::full}) {
    if (value != level_name(level)) continue;
    options.probe.level = level;
    return;
  }
  throw usage_error("unknown level '" + value + "'", flag, "give quick, default or full");
}

void set_sizes(HarnessOptions& options, const std::string& flag, const std::string& value) {
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    options.probe.sizes.push_back(parse_size(value.substr(begin, end - begin), flag));
    begin = end + 1;
  }
}

void set_repetitions(HarnessOptions& options, const std::string& flag, const std::string& value) {
  options.repetitions = parse_number<std::int64_t>(value, flag, "give a count from 1 to 10000");
  if (*options.repetitions < 1 || *options.repetitions > 10000) {
    throw usage_error("'" + value + "' repetitions", flag, "give a count from 1 to 10000");
  }
}

void set_format(HarnessOptions& options, const std::string& flag, const std::string& value) {
  if (value != "json" && value != "console") {
    throw usage_error("unknown format '" + value + "'", flag, "give json or console");
  }
  options.benchmark_stdout = value == "json";
}

void set_out_format(HarnessOptions&, const std::string& flag, const std::string& value) {
  if (value == "json") return;
  throw usage_error("format '" + value + "' is not written", flag, "give json");
}

void set_context(HarnessOptions& options, const std::string& flag, const std::string& value) {
  for (std::size_t begin = 0; begin < value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    const std::string pair = value.substr(begin, end - begin);
    const std::size_t equal = pair.find('=');
    if (equal == std::string::npos || equal == 0) {
      throw usage_error("'" + pair + "' is not key=value", flag, "give key=value[,key=value]");
    }
    options.context.emplace_back(pair.substr(0, equal), pair.substr(equal + 1));
    begin = end + 1;
  }
}

void set_action(HarnessOptions& options, Action action, const std::string& flag,
                const std::string& value) {
  if (parse_switch(value, flag)) options.action = action;
}

void ignore(HarnessOptions&, const std::string&, const std::string&) {}

using O = HarnessOptions;
using S = const std::string;
constexpr Flag kFlags[] = {
    {"--out", true, [](O& o, S&, S& v) { o.out = v; }},
    {"--level", true, set_level},
    {"--filter", true, [](O& o, S&, S& v) { o.filter = v; }},
    {"--size", true, set_sizes},
    {"--max-time", true, [](O& o, S& f, S& v) { o.max_time = parse_seconds(v, f); }},
    {"--dir", true, [](O& o, S&, S& v) { o.probe.directory = v; }},
    {"--seed", true,
     [](O& o, S& f, S& v) { o.seed = parse_number<std::uint64_t>(v, f, "give a whole number"); }},
    {"--list", false, [](O& o, S& f, S& v) { set_action(o, Action::list, f, v); }},
    {"--describe", false, [](O& o, S& f, S& v) { set_action(o, Action::describe, f, v); }},
    {"--help", false, [](O& o, S& f, S& v) { set_action(o, Action::help, f, v); }},
    {"--benchmark_filter", true, [](O& o, S&, S& v) { o.filter = v == "all" ? "" : v; }},
    {"--benchmark_list_tests", false, [](O& o, S& f, S& v) { set_action(o, Action::list, f, v); }},
    {"--benchmark_repetitions", true, set_repetitions},
    {"--benchmark_min_time", true, [](O& o, S& f, S& v) { o.sample_time = parse_seconds(v, f); }},
    {"--benchmark_dry_run", false, [](O& o, S& f, S& v) { o.dry_run = parse_switch(v, f); }},
    {"--benchmark_out", true, [](O& o, S&, S& v) { o.benchmark_out = v; }},
    {"--benchmark_out_format", true, set_out_format},
    {"--benchmark_format", true, set_format},
    {"--benchmark_context", true, set_context},
    {"--benchmark_report_aggregates_only", false,
     [](O& o, S& f, S& v) { o.aggregates_only = parse_switch(v, f); }},
    // Known there and without meaning here: our order is always random, our table has one form.
    {"--benchmark_display_aggregates_only", false, ignore},
    {"--benchmark_enable_random_interleaving", false, ignore},
    {"--benchmark_color", true, ignore},
    {"--benchmark_counters_tabular", false, ignore},
    {"--benchmark_time_unit", true, ignore},
};

const Flag& find_flag(const std::string& name) {
  for (const Flag& flag : kFlags) {
    if (flag.name == name) return flag;
  }
  throw usage_error("unknown flag '" + name + "'", "command line", "see --help");
}

}  // namespace

HarnessOptions parse_options(const std::vector<std::string>& arguments) {
  HarnessOptions options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::size_t equal = arguments[i].find('=');
    const std::string name = arguments[i].substr(0, equal);
    const Flag& flag = find_flag(name);
    std::string value;
    if (equal != std::string::npos) {
      value = arguments[i].substr(equal + 1);
    } else if (flag.takes_value) {
      if (++i == arguments.size()) throw usage_error("no value", name, "see --help");
      value = arguments[i];
    } else {
      value = "true";
    }
    flag.set(options, name, value);
  }
  return options;
}

std::string options_help(const ProbeInfo& info) {
  std::string text = std::string(info.id) + ": " + std::string(info.question) + "\n\n";
  text += std::string(info.method) + "\n\n";
  text +=
      "  --out FILE          write our report (\"-\": stdout)\n"
      "  --level LEVEL       quick, default or full: how many cases and how many samples\n"
      "  --filter REGEX      only cases whose name matches; a leading '-' negates\n"
      "  --size SIZE[,SIZE]  working sets instead of the usual ones, where the probe has any\n"
      "  --max-time SECONDS  stop by then: fewer samples, wider intervals\n"
      "  --dir DIR           where storage probes may make their file: the file system that they\n"
      "                      measure [$TMPDIR, /var/tmp or /tmp: the first that is not in memory]\n"
      "  --seed N            of the order within a round\n"
      "  --list              the cases, one a line, with the reason where one is skipped\n"
      "  --describe          what the probe measures, as JSON\n"
      "  --benchmark_{filter,list_tests,repetitions,min_time,dry_run,format,out,out_format,\n"
      "               context,report_aggregates_only}: as in Google Benchmark\n\n"
      "exit codes: 0 all ok; 1 nothing could run; 2 usage; 3 a check failed; 5 some cases could\n"
      "not run; 77 everything skipped; 130 interrupted, partial report written\n\n";
  text += "example: plimsoll-probe-" + std::string(info.id) + " --level quick --out -\n";
  return text;
}

std::int64_t parse_size(const std::string& text, const std::string& flag) {
  constexpr const char* kWants = "give bytes, for instance 4096, 64K, 256MiB or 1G";
  std::int64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error == std::errc::result_out_of_range) {
    throw usage_error("'" + text + "' is too large", flag, kWants);
  }
  if (error != std::errc() || number <= 0) {
    throw usage_error("'" + text + "' is not a size", flag, kWants);
  }
  std::string suffix(end, last);
  if (suffix.ends_with("iB")) suffix.resize(suffix.size() - 2);
  if (suffix.ends_with('B')) suffix.pop_back();
  if (suffix.empty()) return number;
  const std::size_t power = std::string_view("KMGT").find(suffix.front());
  if (suffix.size() != 1 || power == std::string_view::npos) {
    throw usage_error("'" + text + "' is not a size", flag, kWants);
  }
  const int shift = 10 * (static_cast<int>(power) + 1);
  if (number > (std::numeric_limits<std::int64_t>::max() >> shift)) {
    throw usage_error("'" + text + "' is too large", flag, kWants);
  }
  return number << shift;
}

std::string level_name(Level level) {
  switch (level) {
    case Level::quick:
      return "quick";
    case Level::standard:
      return "default";
    case Level::full:
      return "full";
  }
  expects(false, "level_name: unknown level");
  return {};
}

std::vector<bool> filter_names(const std::vector<std::string>& names, const std::string& filter) {
  std::vector<bool> kept(names.size(), true);
  if (filter.empty()) return kept;
  const bool negate = filter.front() == '-';
  try {
    const std::regex pattern(filter.substr(negate ? 1 : 0), std::regex::extended);
    for (std::size_t i = 0; i < names.size(); ++i) {
      kept[i] = std::regex_search(names[i], pattern) != negate;
    }
  } catch (const std::regex_error& error) {
    throw usage_error("'" + filter + "' is not a regular expression: " + error.what(), "--filter",
                      "quote special characters with a backslash");
  }
  return kept;
}

}  // namespace plimsoll::probes
