// Halton's sequence: digits of the counter in coprime bases, mirrored at the point.

#include "probes/kernel/spread.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/error.hpp"

namespace plimsoll::probes {
namespace {

constexpr std::array<std::int64_t, 6> kBases{2, 3, 5, 7, 11, 13};
constexpr std::int64_t kTriesPerPoint = 1000;  // then the grid has no more

double mirrored(std::int64_t counter, std::int64_t base) {
  double value = 0, digit = 1;
  for (; counter > 0; counter /= base) {
    digit /= static_cast<double>(base);
    value += digit * static_cast<double>(counter % base);
  }
  return value;
}

}  // namespace

std::vector<Point> spread(const std::vector<std::vector<std::int64_t>>& axes, std::int64_t count,
                          const std::function<bool(const Point&)>& accept) {
  expects(axes.size() <= kBases.size(), "every axis has a base of its own");
  std::vector<Point> points;
  std::int64_t since_last = 0;
  for (std::int64_t i = 1; std::ssize(points) < count && since_last < kTriesPerPoint; ++i) {
    Point point;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const double at = mirrored(i, kBases[axis]) * static_cast<double>(axes[axis].size());
      point.push_back(axes[axis][static_cast<std::size_t>(at)]);
    }
    ++since_last;
    if (!accept(point) || std::ranges::find(points, point) != points.end()) continue;
    points.push_back(std::move(point));
    since_last = 0;
  }
  return points;
}

}  // namespace plimsoll::probes
