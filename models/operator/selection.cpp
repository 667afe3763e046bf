// The points of a kernel table that were measured under the load that training will have.
//
//     wanted = {threads of a rank, cores of the other ranks}
//     enough points with that load: these;  a few: the richest load's points, shifted by the median
//     ln(t_wanted / t_richest) over the shapes that both have;  none: the nearest load's points
//
// Source    Two ranks on two cores share memory and clock: the same product ran at 0.86 to 0.96 of
//           its speed alone when the other core computed too.
// Assumes   One factor for all shapes where only some were measured under load.
// Fails     -: a substitute is named as an assumption and widens the interval.
// Limits    Another number of threads: perfect scaling, with a standard error of 30 %.
// Tests     tests/models/operator/selection_test.cpp.

#include "models/operator/selection.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

namespace plimsoll::models {
namespace {

constexpr double kOtherLoadSd = 0.10;     // no busy cores measured, or another number of them
constexpr double kOtherThreadsSd = 0.30;  // another number of threads
constexpr std::size_t kSharedShapes = 3;  // so few make a median

using Groups = std::map<Load, std::vector<SurfacePoint>>;

std::string text_of(Load load) {
  return std::to_string(load.threads) + (load.threads == 1 ? " thread, " : " threads, ") +
         std::to_string(load.busy_cores) + " other cores busy";
}

// Distance of loads: threads first, then busy cores.
std::pair<int, int> distance(Load a, Load b) {
  return {std::abs(a.threads - b.threads), std::abs(a.busy_cores - b.busy_cores)};
}

// ln(t_wanted / t_base) over the shapes that both have.
std::vector<double> shared_shifts(const std::vector<SurfacePoint>& wanted,
                                  const std::vector<SurfacePoint>& base) {
  std::vector<double> shifts;
  for (const SurfacePoint& w : wanted) {
    for (const SurfacePoint& b : base) {
      if (w.features == b.features) shifts.push_back(w.log_time - b.log_time);
    }
  }
  std::sort(shifts.begin(), shifts.end());
  return shifts;
}

std::vector<SurfacePoint> shifted(std::vector<SurfacePoint> points, double shift) {
  for (SurfacePoint& p : points) p.log_time += shift;
  return points;
}

Selection nearest(const Groups& groups, Load wanted, const std::string& table) {
  const auto best =
      std::min_element(groups.begin(), groups.end(), [&](const auto& a, const auto& b) {
        return distance(a.first, wanted) < distance(b.first, wanted);
      });
  const Load found = best->first;
  const bool same_threads = found.threads == wanted.threads;
  const double shift = std::log(static_cast<double>(found.threads) / wanted.threads);
  return {.points = shifted(best->second, shift),
          .log_sd = same_threads ? kOtherLoadSd : kOtherThreadsSd,
          .assumption = table + ": not measured with " + text_of(wanted) + "; taken from " +
                        text_of(found) + (same_threads ? "" : ", scaled by the threads")};
}

}  // namespace

std::optional<Selection> select(const std::vector<LoadedPoint>& points, Load wanted,
                                const std::string& table) {
  Groups groups;
  for (const LoadedPoint& p : points) groups[p.load].push_back(p.point);
  if (groups.empty()) return std::nullopt;
  const auto exact = groups.find(wanted);
  if (exact == groups.end()) return nearest(groups, wanted, table);

  // The richest group of as many threads.
  auto richest = exact;
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    if (group->first.threads != wanted.threads) continue;
    if (group->second.size() > richest->second.size()) richest = group;
  }
  if (2 * exact->second.size() > richest->second.size()) return Selection{.points = exact->second};
  const std::vector<double> shifts = shared_shifts(exact->second, richest->second);
  if (shifts.size() < kSharedShapes) return Selection{.points = exact->second};
  const double spread = shifts.back() - shifts.front();
  return Selection{.points = shifted(richest->second, shifts[shifts.size() / 2]),
                   .log_sd = spread / 4,  // a range is about four standard deviations
                   .assumption = table + ": only " + std::to_string(shifts.size()) +
                                 " shapes measured with " + text_of(wanted) +
                                 "; the others taken from " + text_of(richest->first) +
                                 " times their median ratio"};
}

}  // namespace plimsoll::models
