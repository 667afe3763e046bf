// Values on a rectilinear lattice: made monotone, and interpolated between the nodes.

#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace plimsoll::models {

struct Lattice {
  std::vector<std::vector<double>> axes;  // sorted coordinates; the first axis varies slowest
  std::vector<double> nodes;
};

// The distinct coordinates of the points along each axis, with middles of wide gaps in between,
// or thinned, so that the lattice stays of bearable size. `points` holds at least one.
[[nodiscard]] std::vector<std::vector<double>> lattice_axes(
    const std::vector<std::vector<double>>& points);

// Takes `value` at every node, then makes the nodes monotone along every axis.
[[nodiscard]] Lattice monotone_lattice(
    std::vector<std::vector<double>> axes,
    const std::function<double(const std::vector<double>&)>& value);

// Multilinear; `x` is clamped into the box.
[[nodiscard]] double interpolate(const Lattice& lattice, std::vector<double> x);

}  // namespace plimsoll::models
