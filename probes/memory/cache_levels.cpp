// Plateaus of a latency curve and the caches they stand for.

#include "probes/memory/cache_levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"

namespace plimsoll::probes {
namespace {

std::string size_text(Bytes bytes) {
  double value = bytes.value();
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = larger;
  }
  return fmt::format("{:g} {}", value, unit);
}

Seconds median_latency(const std::vector<LatencyPoint>& points) {
  std::vector<double> latencies;
  for (const LatencyPoint& point : points) latencies.push_back(point.latency.value());
  return Seconds(median(latencies));
}

double distance(Bytes a, Bytes b) { return std::abs(std::log2(a / b)); }

}  // namespace

std::vector<Plateau> find_plateaus(const std::vector<LatencyPoint>& points, double rise) {
  std::vector<Plateau> plateaus;
  for (std::size_t begin = 0; begin < points.size();) {
    std::vector<LatencyPoint> flat{points[begin]};
    std::size_t end = begin + 1;
    while (end < points.size() && points[end].latency <= rise * median_latency(flat)) {
      flat.push_back(points[end++]);
    }
    if (flat.size() > 1 || begin == 0 || end == points.size()) {
      plateaus.push_back({flat.front().working_set, flat.back().working_set, median_latency(flat)});
    }
    begin = end;
  }
  return plateaus;
}

std::vector<LevelCheck> check_levels(const std::vector<Plateau>& plateaus,
                                     const std::vector<CacheFact>& caches) {
  const double kNear = std::log2(3.0);
  std::vector<LevelCheck> checks;
  for (const CacheFact& cache : caches) {
    if (cache.type == "instruction" || !cache.size_bytes) continue;
    LevelCheck check{
        .level = cache.level, .told = Bytes(static_cast<double>(*cache.size_bytes)), .found = {}};
    // The last plateau ends where measuring ended, not where a cache does.
    for (std::size_t i = 0; i + 1 < plateaus.size(); ++i) {
      const Bytes end = plateaus[i].last;
      if (distance(end, check.told) > kNear) continue;
      if (!check.found || distance(end, check.told) < distance(*check.found, check.told)) {
        check.found = end;
      }
    }
    checks.push_back(check);
  }
  return checks;
}

std::vector<Finding> cache_findings(const std::vector<LatencyPoint>& points,
                                    const std::vector<CacheFact>& caches) {
  constexpr std::size_t kLeastPoints = 5;
  if (points.size() < kLeastPoints) return {};
  const std::vector<Plateau> plateaus = find_plateaus(points);
  std::string levels;
  for (const Plateau& plateau : plateaus) {
    if (!levels.empty()) levels += ", ";
    levels +=
        fmt::format("{:.3g} ns up to {}", plateau.latency.value() * 1e9, size_text(plateau.last));
  }
  std::vector<Finding> findings{{.id = "memory.cache_levels",
                                 .severity = Severity::info,
                                 .message = "flat stretches of the latency curve: " + levels,
                                 .effect = "each is a level of the memory hierarchy as it behaves",
                                 .fix = {}}};
  for (const LevelCheck& check : check_levels(plateaus, caches)) {
    if (check.found || check.told >= points.back().working_set) continue;
    findings.push_back(
        {.id = "memory.cache_size",
         .severity = Severity::info,
         .message = fmt::format("the machine says its level {} cache holds {}; the latency curve "
                                "has no step near that",
                                check.level, size_text(check.told)),
         .effect = "a shared or virtual machine may own only a part of that cache, or its latency "
                   "grows gradually; the model uses the measured curve",
         .fix = "measure on an idle machine, or believe the curve"});
  }
  return findings;
}

}  // namespace plimsoll::probes
