// Shapes spread evenly over a grid: a few of many combinations, chosen the same way every time, so
// that a longer list starts with the shorter one.

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace plimsoll::probes {

using Point = std::vector<std::int64_t>;  // one value of each axis

// The first `count` different points of a Halton sequence over the axes' values that `accept`
// takes; fewer where the grid has fewer.
[[nodiscard]] std::vector<Point> spread(const std::vector<std::vector<std::int64_t>>& axes,
                                        std::int64_t count,
                                        const std::function<bool(const Point&)>& accept);

}  // namespace plimsoll::probes
