// A monotone function on a lattice.
//
//     along every axis in turn: isotonic regression, a few rounds
//     node = (running maximum from below + running minimum from above) / 2
//     between nodes: multilinear
//
// The rounds come close to a monotone function without letting one bad node spoil its row; the last
// line makes it exactly so: a running maximum over all nodes below is monotone, so is a running
// minimum over all nodes above, so is their mean. Nodes that are monotone already stay as they are.
// Multilinear interpolation of monotone nodes is monotone.
//
// Source    Isotonic regression by envelopes: Robertson, Wright, Dykstra, "Order Restricted
// Statistical
//           Inference", 1988, section 1.4 (upper and lower sets).
// Assumes   -
// Fails     -
// Limits    One coordinate on an axis: constant along it.
// Tests     tests/models/numeric/surface_test.cpp.

#include "models/numeric/lattice.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "models/numeric/isotonic.hpp"

namespace plimsoll::models {
namespace {

using Vector = std::vector<double>;

constexpr double kMostNodes = 40000;    // when the measured coordinates alone ask for more
constexpr double kRefinedNodes = 8000;  // with middles of gaps
constexpr double kFinestGap = 0.75;     // octaves: narrower gaps need no middle

double node_count(const std::vector<Vector>& axes) {
  double count = 1;
  for (const Vector& axis : axes) count *= static_cast<double>(axis.size());
  return count;
}

// Every second coordinate of the longest axis goes, until the lattice is of bearable size.
void thin(std::vector<Vector>& axes) {
  while (node_count(axes) > kMostNodes) {
    Vector& longest =
        *std::max_element(axes.begin(), axes.end(),
                          [](const Vector& a, const Vector& b) { return a.size() < b.size(); });
    Vector thinner;
    for (std::size_t i = 0; i + 1 < longest.size(); i += 2) thinner.push_back(longest[i]);
    thinner.push_back(longest.back());
    longest = std::move(thinner);
  }
}

// Middles of the widest gaps: ln t is convex in ln size, straight lines over wide gaps lie above
// it.
void refine(std::vector<Vector>& axes) {
  while (true) {
    double widest = kFinestGap;
    Vector* axis = nullptr;
    std::size_t place = 0;
    for (Vector& candidate : axes) {
      for (std::size_t i = 1; i < candidate.size(); ++i) {
        if (candidate[i] - candidate[i - 1] <= widest) continue;
        widest = candidate[i] - candidate[i - 1];
        axis = &candidate;
        place = i;
      }
    }
    if (axis == nullptr) return;
    const double nodes = node_count(axes) / static_cast<double>(axis->size());
    if (nodes * static_cast<double>(axis->size() + 1) > kRefinedNodes) return;
    const double middle = 0.5 * ((*axis)[place - 1] + (*axis)[place]);
    axis->insert(axis->begin() + static_cast<std::ptrdiff_t>(place), middle);
  }
}

// Calls visit(line start, stride, count) for every line of the lattice along axis d. The first
// axis varies slowest.
template <class Visit>
void for_each_line(const std::vector<Vector>& axes, std::size_t d, Visit visit) {
  std::size_t stride = 1, blocks = 1;
  for (std::size_t e = d + 1; e < axes.size(); ++e) stride *= axes[e].size();
  for (std::size_t e = 0; e < d; ++e) blocks *= axes[e].size();
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t i = 0; i < stride; ++i) {
      visit(block * stride * axes[d].size() + i, stride, axes[d].size());
    }
  }
}

void regress(const std::vector<Vector>& axes, Vector& nodes) {
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t d = 0; d < axes.size(); ++d) {
      for_each_line(axes, d, [&](std::size_t start, std::size_t stride, std::size_t count) {
        Vector line(count);
        for (std::size_t i = 0; i < count; ++i) line[i] = nodes[start + i * stride];
        line = isotonic(line, Vector(count, 1.0));
        for (std::size_t i = 0; i < count; ++i) nodes[start + i * stride] = line[i];
      });
    }
  }
}

void make_monotone(const std::vector<Vector>& axes, Vector& nodes) {
  Vector up = nodes, down = nodes;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    for_each_line(axes, d, [&](std::size_t start, std::size_t stride, std::size_t count) {
      for (std::size_t i = 1; i < count; ++i) {
        const std::size_t here = start + i * stride;
        up[here] = std::max(up[here], up[here - stride]);
      }
      for (std::size_t i = count - 1; i-- > 0;) {
        const std::size_t here = start + i * stride;
        down[here] = std::min(down[here], down[here + stride]);
      }
    });
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = 0.5 * (up[i] + down[i]);
}

}  // namespace

std::vector<Vector> lattice_axes(const std::vector<Vector>& points) {
  expects(!points.empty(), "lattice_axes: at least one point");
  std::vector<Vector> axes(points.front().size());
  for (std::size_t d = 0; d < axes.size(); ++d) {
    for (const Vector& p : points) axes[d].push_back(p[d]);
    std::sort(axes[d].begin(), axes[d].end());
    axes[d].erase(std::unique(axes[d].begin(), axes[d].end()), axes[d].end());
  }
  thin(axes);
  refine(axes);
  return axes;
}

Lattice monotone_lattice(std::vector<Vector> axes,
                         const std::function<double(const Vector&)>& value) {
  Lattice lattice{.axes = std::move(axes), .nodes = {}};
  std::size_t count = 1;
  for (const Vector& axis : lattice.axes) count *= axis.size();
  lattice.nodes.resize(count);
  Vector x(lattice.axes.size());
  for (std::size_t node = 0; node < count; ++node) {
    std::size_t rest = node;
    for (std::size_t d = lattice.axes.size(); d-- > 0; rest /= lattice.axes[d].size()) {
      x[d] = lattice.axes[d][rest % lattice.axes[d].size()];
    }
    lattice.nodes[node] = value(x);
  }
  regress(lattice.axes, lattice.nodes);
  make_monotone(lattice.axes, lattice.nodes);
  return lattice;
}

double interpolate(const Lattice& lattice, Vector x) {
  const std::size_t dimensions = lattice.axes.size();
  expects(x.size() == dimensions, "interpolate: a coordinate for every axis");
  std::vector<std::size_t> low(dimensions);
  Vector part(dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) {
    const Vector& axis = lattice.axes[d];
    x[d] = std::clamp(x[d], axis.front(), axis.back());
    const auto above = std::upper_bound(axis.begin(), axis.end(), x[d]);
    const auto index = static_cast<std::size_t>(above - axis.begin());
    low[d] = index == 0 ? 0 : index - 1;
    const std::size_t high = std::min(low[d] + 1, axis.size() - 1);
    const double width = axis[high] - axis[low[d]];
    part[d] = width > 0 ? (x[d] - axis[low[d]]) / width : 0.0;
  }
  double sum = 0;
  for (std::size_t corner = 0; corner < (std::size_t{1} << dimensions); ++corner) {
    double weight = 1;
    std::size_t node = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
      const bool upper = ((corner >> d) & 1U) != 0;
      const std::size_t size = lattice.axes[d].size();
      weight *= upper ? part[d] : 1.0 - part[d];
      node = node * size + std::min(low[d] + (upper ? 1 : 0), size - 1);
    }
    if (weight > 0) sum += weight * lattice.nodes[node];
  }
  return sum;
}

}  // namespace plimsoll::models
