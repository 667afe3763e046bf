// The points of a kernel table that were measured under the load that training will have.
//
//     wanted = {threads of a rank, cores of the other ranks}
//     richer load of as many threads:  ln t = ln t_richer + shift(shape) where only that one was
//     timed shift(shape) = (w0 median + sum_i w_i s_i) / (w0 + sum_i w_i),  w_i = exp(-d_i^2 / 8)
//     wanted load never timed:  the points of the nearest load
//
// s_i = ln(t_wanted / t_richer) at the shapes that both have, d_i the distance to them in octaves:
// memory-bound shapes suffer more from busy neighbours than compute-bound ones.
//
// Source    Two ranks on two cores share memory and clock: the same product ran at 0.86 to 0.96 of
//           its speed alone when the other core computed too.
// Assumes   The effect of the load changes smoothly with the shape.
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
constexpr std::size_t kSharedShapes = 3;  // so few tell a ratio

using Groups = std::map<Load, std::vector<SurfacePoint>>;

std::string text_of(Load load) {
  return std::to_string(load.threads) + (load.threads == 1 ? " thread, " : " threads, ") +
         std::to_string(load.busy_cores) + " other cores busy";
}

// Distance of loads: threads first, then busy cores.
std::pair<int, int> distance(Load a, Load b) {
  return {std::abs(a.threads - b.threads), std::abs(a.busy_cores - b.busy_cores)};
}

// A shape that both loads have, and ln(t_wanted / t_base) there.
struct Shared {
  std::vector<double> features;
  double shift = 0;
};

std::vector<Shared> shared_shapes(const std::vector<SurfacePoint>& wanted,
                                  const std::vector<SurfacePoint>& base) {
  std::vector<Shared> shared;
  for (const SurfacePoint& w : wanted) {
    for (const SurfacePoint& b : base) {
      if (w.features == b.features) shared.push_back({w.features, w.log_time - b.log_time});
    }
  }
  std::sort(shared.begin(), shared.end(),
            [](const Shared& a, const Shared& b) { return a.shift < b.shift; });
  return shared;
}

double shift_at(const std::vector<double>& features, const std::vector<Shared>& shared) {
  constexpr double kMedianWeight = 0.5;
  constexpr double kReach = 2.0;  // octaves
  double weights = kMedianWeight;
  double sum = kMedianWeight * shared[shared.size() / 2].shift;
  for (const Shared& s : shared) {
    double square = 0;
    for (std::size_t d = 0; d < features.size(); ++d) {
      square += std::pow(features[d] - s.features[d], 2);
    }
    const double weight = std::exp(-square / (2 * kReach * kReach));
    weights += weight;
    sum += weight * s.shift;
  }
  return sum / weights;
}

// The wanted load's own points, and the base's at the other shapes, shifted.
std::vector<SurfacePoint> completed(const std::vector<SurfacePoint>& wanted,
                                    const std::vector<SurfacePoint>& base,
                                    const std::vector<Shared>& shared, double spread) {
  std::vector<SurfacePoint> points = wanted;
  for (SurfacePoint p : base) {
    const bool own = std::any_of(wanted.begin(), wanted.end(),
                                 [&](const SurfacePoint& w) { return w.features == p.features; });
    if (own) continue;
    p.log_time += shift_at(p.features, shared);
    p.log_error = std::hypot(p.log_error, spread);
    points.push_back(std::move(p));
  }
  return points;
}

std::vector<SurfacePoint> shifted(std::vector<SurfacePoint> points, double shift) {
  for (SurfacePoint& p : points) p.log_time += shift;
  return points;
}

Selection nearest(const Groups& groups, Load wanted) {
  const auto best =
      std::min_element(groups.begin(), groups.end(), [&](const auto& a, const auto& b) {
        return distance(a.first, wanted) < distance(b.first, wanted);
      });
  const Load found = best->first;
  const bool same_threads = found.threads == wanted.threads;
  const double shift = std::log(static_cast<double>(found.threads) / wanted.threads);
  return {.points = shifted(best->second, shift),
          .log_sd = same_threads ? kOtherLoadSd : kOtherThreadsSd,
          .assumption = "not measured with " + text_of(wanted) + "; taken from " + text_of(found) +
                        (same_threads ? "" : ", scaled by the threads")};
}

}  // namespace

std::optional<Selection> select(const std::vector<LoadedPoint>& points, Load wanted) {
  Groups groups;
  for (const LoadedPoint& p : points) groups[p.load].push_back(p.point);
  if (groups.empty()) return std::nullopt;
  const auto exact = groups.find(wanted);
  if (exact == groups.end()) return nearest(groups, wanted);

  // The richest group of as many threads.
  auto richest = exact;
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    if (group->first.threads != wanted.threads) continue;
    if (group->second.size() > richest->second.size()) richest = group;
  }
  if (exact == richest) return Selection{.points = exact->second};
  const std::vector<Shared> shared = shared_shapes(exact->second, richest->second);
  if (shared.size() < kSharedShapes || shared.size() == richest->second.size()) {
    return Selection{.points = exact->second};
  }
  // Half the spread between the quartiles is about 0.67 standard deviations.
  const double quartiles = shared[shared.size() * 3 / 4].shift - shared[shared.size() / 4].shift;
  const double spread = quartiles / 1.35;
  return Selection{.points = completed(exact->second, richest->second, shared, spread),
                   .assumption = std::to_string(shared.size()) + " shapes measured with " +
                                 text_of(wanted) + "; others taken from " +
                                 text_of(richest->first) + ", times the ratio at similar shapes"};
}

}  // namespace plimsoll::models
