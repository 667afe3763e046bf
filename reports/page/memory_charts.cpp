// Where do the caches end, and how much bandwidth do loads and stores get?

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/format/html_text.hpp"
#include "reports/format/units.hpp"
#include "reports/page/chart.hpp"
#include "reports/page/spec.hpp"

namespace plimsoll::reports {
namespace {

// Dashed verticals at the capacity of each data cache, named.
Json cache_layers(const Environment& environment, const Range& sizes) {
  std::map<int, std::int64_t> levels;
  for (const CacheFact& cache : environment.caches) {
    if (cache.type != "instruction" && cache.size_bytes) levels[cache.level] = *cache.size_bytes;
  }
  Json values = Json::array();
  for (const auto& [level, size] : levels) {
    const auto bytes = static_cast<double>(size);
    if (bytes < sizes.low || bytes > sizes.high) continue;
    values.push_back({{"bytes", bytes}, {"name", fmt::format("L{} {}", level, human(bytes, "B"))}});
  }
  const Json x = bytes_axis(sizes, "bytes", "");
  Json place = {{"field", "bytes"}, {"type", "quantitative"}, {"scale", x["scale"]}};
  return {{{"data", {{"values", values}}},
           {"mark", {{"type", "rule"}, {"strokeDash", {2, 4}}, {"color", "var(--axis)"}}},
           {"encoding", {{"x", place}}}},
          {{"data", {{"values", values}}},
           {"mark",
            {{"type", "text"},
             {"align", "left"},
             {"dx", 4},
             {"dy", 8},
             {"fontSize", 11},
             {"color", "var(--muted)"}}},
           {"encoding", {{"x", place}, {"y", {{"value", 0}}}, {"text", {{"field", "name"}}}}}}};
}

// Interval, line and dots of one measurement per size.
Json curve_layers(const Json& encoding, const Json& dots) {
  Json interval = encoding;
  interval.erase("tooltip");
  interval.erase("strokeDash");
  interval["y"]["field"] = "low";
  interval["y2"] = {{"field", "high"}};
  Json line = encoding;
  line.erase("tooltip");
  // The legend shows the dots, colour and shape; the same field here would put dashes around them.
  line["strokeDash"]["field"] = "dash";
  line["strokeDash"]["legend"] = nullptr;
  Json point = encoding;
  point.erase("strokeDash");
  point.update(dots);
  return {
      {{"mark", {{"type", "rule"}, {"strokeWidth", 4}, {"opacity", 0.35}}}, {"encoding", interval}},
      {{"mark", {{"type", "line"}}}, {"encoding", line}},
      {{"mark", {{"type", "point"}}}, {"encoding", point}}};
}

void append(Json& list, const Json& more) { list.insert(list.end(), more.begin(), more.end()); }

std::string page_name(const std::string& page) {
  return page == "huge" ? "huge pages" : page == "4k" ? "4 KiB pages" : page;
}

}  // namespace

void add_load_latency(const Report& machine, std::vector<Chart>& out) {
  Chart chart;
  chart.id = "load-latency";
  chart.title = "Where do the caches end?";
  chart.description =
      "Time of one load that must wait for the load before it, by working set. Steps are the "
      "caches "
      "(dashed lines: sizes the system reports); the gap between the two page sizes is the cost of "
      "address translation. Thick bars: 95 % interval of the median.";
  chart.table = {"load-latency",
                 "one dependent load",
                 {{"Working set", true}, {"Pages"}, {"Latency", true}, {"95 % interval", true}},
                 {}};
  Json data = Json::array();
  Range sizes, times;
  std::vector<std::string> pages;
  for (const Metric* metric : measured(machine, "memory.load_latency")) {
    const auto size = number_param(*metric, "working_set_bytes");
    if (!size || *size <= 0) continue;
    const std::string page = page_name(text_param(*metric, "page"));
    add_once(pages, page);
    sizes.include(*size);
    times.include(1e9 * low_of(*metric));
    times.include(1e9 * high_of(*metric));
    data.push_back({{"bytes", *size},
                    {"ns", 1e9 * *metric->value},
                    {"low", 1e9 * low_of(*metric)},
                    {"high", 1e9 * high_of(*metric)},
                    {"page", page},
                    {"dash", page},
                    {"working set", human(*size, "B")},
                    {"latency", human(*metric->value, "s")},
                    {"interval", interval_text(*metric)}});
    chart.table.rows.push_back(
        {human(*size, "B"), page, human(*metric->value, "s"), interval_text(*metric)});
  }
  if (data.empty()) return;
  const Json encoding = {{"x", bytes_axis(sizes, "bytes", "working set")},
                         {"y", log_axis(times, "ns", "latency of one load (ns)")},
                         {"color", nominal("page", "", pages)},
                         {"strokeDash", nominal("page", "", pages)},
                         {"tooltip", tooltip({"working set", "page", "latency", "interval"})}};
  Json layers = cache_layers(machine.environment, sizes);
  append(layers, curve_layers(encoding, {{"shape", nominal("page", "", pages)}}));
  chart.spec = dumped(view(std::move(data), std::move(layers), 330));
  out.push_back(std::move(chart));
}

void add_stream_bandwidth(const Report& machine, std::vector<Chart>& out) {
  Chart chart;
  chart.id = "stream-bandwidth";
  chart.title = "How much bandwidth do loads and stores get?";
  chart.description =
      "Bytes counted as STREAM counts them (what the program asks for, not write-allocate "
      "traffic), "
      "by working set over all cores in use. Thick bars: 95 % interval of the median.";
  chart.table = {"stream-bandwidth",
                 "one kernel at one size",
                 {{"Cores", true},
                  {"Kernel"},
                  {"Working set", true},
                  {"Bandwidth", true},
                  {"95 % interval", true}},
                 {}};
  std::set<double> all_cores;
  std::vector<std::string> kernels;
  Range sizes, rates;
  const auto metrics = measured(machine, "memory.stream_bandwidth");
  for (const Metric* metric : metrics) {
    all_cores.insert(number_param(*metric, "cores").value_or(1));
    add_once(kernels, text_param(*metric, "kernel"));
  }
  // Four facets say enough about scaling: one core, all cores, two between.
  std::vector<double> cores(all_cores.begin(), all_cores.end());
  if (cores.size() > 4) {
    cores = {cores.front(), cores[cores.size() / 3], cores[2 * cores.size() / 3], cores.back()};
  }
  std::vector<std::string> facet_names;
  for (const double count : cores) {
    facet_names.push_back(counted(static_cast<std::size_t>(count), "core"));
  }
  Json data = Json::array();
  for (const Metric* metric : metrics) {
    const auto size = number_param(*metric, "working_set_bytes");
    if (!size || *size <= 0) continue;
    const double count = number_param(*metric, "cores").value_or(1);
    const std::string kernel = text_param(*metric, "kernel");
    chart.table.rows.push_back({human(count, "1"), kernel, human(*size, "B"),
                                human(*metric->value, "B/s"), interval_text(*metric)});
    if (std::find(cores.begin(), cores.end(), count) == cores.end()) continue;
    sizes.include(*size);
    rates.include(1e-9 * low_of(*metric));
    rates.include(1e-9 * high_of(*metric));
    data.push_back({{"bytes", *size},
                    {"rate", 1e-9 * *metric->value},
                    {"low", 1e-9 * low_of(*metric)},
                    {"high", 1e-9 * high_of(*metric)},
                    {"kernel", kernel},
                    {"dash", kernel},
                    {"facet", counted(static_cast<std::size_t>(count), "core")},
                    {"working set", human(*size, "B")},
                    {"bandwidth", human(*metric->value, "B/s")},
                    {"interval", interval_text(*metric)}});
  }
  if (data.empty()) return;
  const Json encoding = {{"x", bytes_axis(sizes, "bytes", "working set")},
                         {"y", log_axis(rates, "rate", "bandwidth (GB/s)")},
                         {"color", nominal("kernel", "", kernels)},
                         {"strokeDash", nominal("kernel", "", kernels)},
                         {"tooltip", tooltip({"working set", "kernel", "bandwidth", "interval"})}};
  Json layers = curve_layers(encoding, {{"shape", nominal("kernel", "", kernels)}});
  const int columns = facet_names.size() > 1 ? 2 : 1;
  chart.spec =
      dumped(facets(std::move(data), {.field = "facet", .order = facet_names, .columns = columns},
                    std::move(layers)));
  out.push_back(std::move(chart));
}

}  // namespace plimsoll::reports
