// Which roof holds matrix multiplication, and what does an all-reduce cost by size?

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "reports/format/html_text.hpp"
#include "reports/format/units.hpp"
#include "reports/page/chart.hpp"
#include "reports/page/spec.hpp"

namespace plimsoll::reports {
namespace {

// What bounds a kernel on `cores` cores: the fastest floating-point loop of its type, and memory
// beyond the caches (the largest working set's best kernel).
struct Roof {
  std::string dtype;
  double cores = 1;
  double peak = 0;       // FLOP/s
  double bandwidth = 0;  // B/s
  [[nodiscard]] double at(double intensity) const { return std::min(peak, intensity * bandwidth); }
  [[nodiscard]] std::string name() const {
    return dtype + ", " + counted(static_cast<std::size_t>(cores), "core");
  }
};

double memory_bandwidth(const Report& machine, double cores) {
  double largest = 0, best = 0;
  for (const Metric* metric : measured(machine, "memory.stream_bandwidth")) {
    if (number_param(*metric, "cores").value_or(1) != cores) continue;
    const double size = number_param(*metric, "working_set_bytes").value_or(0);
    if (size > largest) {
      largest = size;
      best = 0;
    }
    if (size == largest) best = std::max(best, *metric->value);
  }
  return best;
}

std::map<std::pair<std::string, double>, Roof> roofs_of(const Report& machine) {
  std::map<std::pair<std::string, double>, Roof> roofs;
  for (const Metric* metric : measured(machine, "cpu.flops.rate")) {
    const std::string dtype = text_param(*metric, "dtype");
    const double cores = number_param(*metric, "cores").value_or(1);
    Roof& roof = roofs[{dtype, cores}];
    roof.dtype = dtype;
    roof.cores = cores;
    roof.peak = std::max(roof.peak, *metric->value);
    roof.bandwidth = memory_bandwidth(machine, cores);
  }
  std::erase_if(roofs, [](const auto& entry) { return !(entry.second.bandwidth > 0); });
  return roofs;
}

struct Matmul {
  double m = 0, n = 0, k = 0, threads = 1, busy = 0, rate = 0, intensity = 0;
  std::string dtype, direction, interval;
};

std::vector<Matmul> matmuls_of(const Report& machine) {
  std::vector<Matmul> out;
  for (const Metric* metric : measured(machine, "kernel.matmul.rate")) {
    Matmul x;
    x.m = number_param(*metric, "m").value_or(0);
    x.n = number_param(*metric, "n").value_or(0);
    x.k = number_param(*metric, "k").value_or(0);
    if (!(x.m > 0 && x.n > 0 && x.k > 0)) continue;
    x.threads = number_param(*metric, "threads").value_or(1);
    x.busy = number_param(*metric, "busy_cores").value_or(0);
    x.dtype = text_param(*metric, "dtype");
    x.direction = text_param(*metric, "direction");
    x.rate = *metric->value;
    x.interval = interval_text(*metric);
    const double element_bytes = x.dtype == "bf16" ? 2 : x.dtype == "f64" ? 8 : 4;
    // Least traffic possible: every operand once.
    x.intensity = 2 * x.m * x.n * x.k / (element_bytes * (x.m * x.k + x.k * x.n + x.m * x.n));
    out.push_back(std::move(x));
  }
  return out;
}

std::string circumstances(const Matmul& x) {
  std::string out = counted(static_cast<std::size_t>(x.threads), "thread");
  if (x.busy > 0) out += fmt::format(", {:.0f} busy beside", x.busy);
  return out;
}

std::string shape(const Matmul& x) { return fmt::format("{:.0f}×{:.0f}×{:.0f}", x.m, x.n, x.k); }

Json roof_layers(const std::vector<Roof>& roofs, const Range& x, const Json& encoding_of_dots,
                 const std::vector<std::string>& names) {
  Json lines = Json::array(), labels = Json::array();
  for (const Roof& roof : roofs) {
    const double ridge = std::clamp(roof.peak / roof.bandwidth, x.low, x.high);
    for (const double intensity : {x.low, ridge, x.high}) {
      lines.push_back({{"intensity", intensity},
                       {"rate", 1e-9 * roof.at(intensity)},
                       {"type", roof.dtype},
                       {"roof", roof.name()}});
    }
    // A label stands above its roof, or below when another roof is close above.
    const bool crowded = std::any_of(roofs.begin(), roofs.end(), [&](const Roof& other) {
      const double ratio = other.at(x.high) / roof.at(x.high);
      return ratio > 1 && ratio < 1.6;
    });
    labels.push_back({{"intensity", x.high},
                      {"rate", 1e-9 * roof.at(x.high)},
                      {"type", roof.dtype},
                      {"dy", crowded ? 13 : -7},
                      {"name", roof.name() + ": " + human(roof.peak, "FLOP/s") + " and " +
                                   human(roof.bandwidth, "B/s")}});
  }
  Json line = encoding_of_dots;
  line.erase("tooltip");
  line.erase("shape");
  line["strokeDash"] = nominal("roof", "roof", names);
  line["strokeDash"]["legend"] = nullptr;
  line["order"] = {{"field", "intensity"}, {"type", "quantitative"}};
  Json label = encoding_of_dots;
  label.erase("tooltip");
  label.erase("shape");
  label["text"] = {{"field", "name"}};
  return {
      {{"data", {{"values", lines}}},
       {"mark", {{"type", "line"}, {"strokeWidth", 2}}},
       {"encoding", line}},
      {{"data", {{"values", labels}}},
       {"mark",
        {{"type", "text"}, {"align", "right"}, {"dy", {{"expr", "datum.dy"}}}, {"fontSize", 11}}},
       {"encoding", label}}};
}

Chart empty_roofline() {
  Chart chart;
  chart.id = "matmul-roofline";
  chart.title = "How close does matrix multiplication come to the roof?";
  chart.description =
      "Each dot is one shape through the library that training uses. Roofs: the fastest "
      "floating-point loop (flat) and memory beyond the caches (slope). Dots above the slope had "
      "their operands in a cache; low dots at the right are small or awkward shapes. Intensity "
      "counts every operand once.";
  chart.table = {"matmul-roofline",
                 "one shape: m × n × k",
                 {{"Shape", true},
                  {"Type"},
                  {"Direction"},
                  {"Running"},
                  {"FLOP per byte", true},
                  {"Rate", true},
                  {"95 % interval", true},
                  {"Of the roof", true},
                  {"Roof"}},
                 {}};
  return chart;
}

}  // namespace

void add_matmul_roofline(const Report& machine, std::vector<Chart>& out) {
  const std::vector<Matmul> matmuls = matmuls_of(machine);
  if (matmuls.empty()) return;
  const auto roofs = roofs_of(machine);
  Chart chart = empty_roofline();
  Json data = Json::array();
  Range intensities, rates;
  std::vector<std::string> types, running, roof_names;
  std::vector<Roof> used;
  for (const Matmul& x : matmuls) {
    add_once(types, x.dtype);
    add_once(running, circumstances(x));
    intensities.include(x.intensity);
    rates.include(1e-9 * x.rate);
    const auto roof = roofs.find({x.dtype, x.threads});
    std::string share, side;
    if (roof != roofs.end()) {
      if (std::find(roof_names.begin(), roof_names.end(), roof->second.name()) ==
          roof_names.end()) {
        roof_names.push_back(roof->second.name());
        used.push_back(roof->second);
      }
      share = human_percent(x.rate / roof->second.at(x.intensity));
      side = x.intensity * roof->second.bandwidth < roof->second.peak ? "memory" : "compute";
    }
    data.push_back({{"intensity", x.intensity},
                    {"rate", 1e-9 * x.rate},
                    {"type", x.dtype},
                    {"running", circumstances(x)},
                    {"shape", shape(x)},
                    {"direction", x.direction},
                    {"measured", human(x.rate, "FLOP/s")},
                    {"of the roof", share}});
    chart.table.rows.push_back({shape(x), x.dtype, x.direction, circumstances(x),
                                human(x.intensity, "1"), human(x.rate, "FLOP/s"), x.interval, share,
                                side});
  }
  for (const Roof& roof : used) {
    rates.include(1e-9 * roof.peak);
    rates.include(1e-9 * roof.at(intensities.low));
  }
  const Json encoding = {
      {"x", log_axis(intensities, "intensity", "arithmetic intensity (FLOP per byte)")},
      {"y", log_axis(rates, "rate", "rate (GFLOP/s)")},
      {"color", nominal("type", "", types)},
      {"shape", nominal("running", "", running)},
      {"tooltip", tooltip({"shape", "type", "direction", "running", "measured", "of the roof"})}};
  Json layers = roof_layers(used, intensities, encoding, roof_names);
  layers.push_back(
      {{"mark", {{"type", "point"}, {"filled", false}, {"strokeWidth", 1.5}, {"size", 36}}},
       {"encoding", encoding}});
  chart.spec = dumped(view(std::move(data), std::move(layers), 380));
  out.push_back(std::move(chart));
}

void add_all_reduce(const Report& machine, std::vector<Chart>& out) {
  Chart chart;
  chart.id = "all-reduce";
  chart.title = "What does an all-reduce cost?";
  chart.description =
      "Time until every rank holds the sum, by bytes of one rank's vector. Flat at the left: the "
      "cost of starting and meeting; rising at the right: bandwidth. Bars: 95 % interval.";
  chart.table = {"all-reduce",
                 "one all-reduce",
                 {{"Bytes", true},
                  {"Ranks", true},
                  {"Communicator"},
                  {"Algorithm"},
                  {"Time", true},
                  {"95 % interval", true},
                  {"Bytes per second", true}},
                 {}};
  Json data = Json::array();
  Range sizes, times;
  std::vector<std::string> algorithms, ranks;
  for (const Metric* metric : measured(machine, "collective.all_reduce.time")) {
    const auto size = number_param(*metric, "bytes");
    if (!size || *size <= 0) continue;
    const auto count = static_cast<std::size_t>(number_param(*metric, "ranks").value_or(1));
    const std::string algorithm =
        text_param(*metric, "algorithm") + " (" + text_param(*metric, "comm") + ")";
    add_once(algorithms, algorithm);
    add_once(ranks, counted(count, "rank"));
    sizes.include(*size);
    times.include(1e6 * low_of(*metric));
    times.include(1e6 * high_of(*metric));
    data.push_back({{"bytes", *size},
                    {"us", 1e6 * *metric->value},
                    {"low", 1e6 * low_of(*metric)},
                    {"high", 1e6 * high_of(*metric)},
                    {"algorithm", algorithm},
                    {"ranks", counted(count, "rank")},
                    {"size", human(*size, "B")},
                    {"time", human(*metric->value, "s")},
                    {"interval", interval_text(*metric)}});
    chart.table.rows.push_back({human(*size, "B"), std::to_string(count),
                                text_param(*metric, "comm"), text_param(*metric, "algorithm"),
                                human(*metric->value, "s"), interval_text(*metric),
                                human(*size / *metric->value, "B/s")});
  }
  if (data.empty()) return;
  const Json encoding = {{"x", bytes_axis(sizes, "bytes", "bytes of each rank's vector")},
                         {"y", log_axis(times, "us", "time (us)")},
                         {"color", nominal("algorithm", "", algorithms)},
                         {"tooltip", tooltip({"size", "algorithm", "ranks", "time", "interval"})}};
  Json interval = encoding, line = encoding, point = encoding;
  interval.erase("tooltip");
  interval["y"]["field"] = "low";
  interval["y2"] = {{"field", "high"}};
  interval["detail"] = {{"field", "ranks"}};
  line.erase("tooltip");
  line["strokeDash"] = nominal("ranks", "", ranks);
  line["strokeDash"]["legend"] = nullptr;
  line["detail"] = {{"field", "algorithm"}};
  point["shape"] =
      nominal(ranks.size() > 1 ? "ranks" : "algorithm", "", ranks.size() > 1 ? ranks : algorithms);
  Json layers = {
      {{"mark", {{"type", "rule"}, {"strokeWidth", 4}, {"opacity", 0.35}}}, {"encoding", interval}},
      {{"mark", "line"}, {"encoding", line}},
      {{"mark", "point"}, {"encoding", point}}};
  chart.spec = dumped(view(std::move(data), std::move(layers), 320));
  out.push_back(std::move(chart));
}

}  // namespace plimsoll::reports
