// A Gaussian process (kriging) on log time over log sizes, made monotone on a lattice.
//
//     ln t(x) = mean + sum_d s_d x_d + g(x),   cov g = v0 + sum_d v (x_d - c_d)(x'_d - c_d)
//                                                      + a^2 M(|x - x'| / l)
//     M(r) = (1 + sqrt3 r) exp(-sqrt3 r)       (Matern 3/2)
//
// s_d are the prior slopes, v their variance: with few points the trend stays near physics, with
// many it follows the table. Length l and amplitude a are those of a small grid with the best
// leave-one-out predictive density, which is closed-form: residual_i = w_i / (K^-1)_ii.
// The posterior mean is then taken at every node of the lattice spanned by the measured
// coordinates and middles of their gaps, clamped at measured nodes into the measurement's interval,
// and made monotone as the mean of its running maximum from below and its running minimum from
// above; between nodes it is multilinear. Monotone nodes stay as they are. Outside the box time
// follows the posterior trend downwards, and upwards the last rate (time proportional to size).
//
// The standard error is that of the process and half the table's own leave-one-out error, added in
// squares: the process alone trusts its smoothness too much.
//
// Source    Rasmussen and Williams, Gaussian Processes for Machine Learning,
// sections 2.7, 4.2, 5.4.2. Assumes   More work takes more time; sizes act through their
// logarithms. Fails     Where an implementation switches kernels between two measured sizes and
// gets faster. Limits    One point: the prior slopes through it. Duplicate shapes: their mean.
// Tests     tests/models/numeric/surface_test.cpp: exactness, monotonicity, leave-one-out bounds.

#include "models/numeric/surface.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "models/numeric/cholesky.hpp"

namespace plimsoll::models {
namespace {

constexpr double kOffsetVariance = 25.0;  // of ln t: nearly free
constexpr double kSlopeSd = 0.25;         // of d ln t / d ln size around the prior
constexpr double kLn2 = 0.6931471805599453;
constexpr double kLeastError = 0.005;    // no timing is better than half a per cent
constexpr double kLooShare = 0.5;        // a real gap is half as wide as one with a point left out
constexpr double kLatticeLimit = 40000;  // nodes, when the measured coordinates alone ask for more
constexpr double kRefinedLimit = 8000;   // nodes, with others put between
constexpr double kFinestGap = 0.75;      // octaves between nodes that need none between
constexpr std::array kLengths = {1.0, 2.0, 4.0, 8.0};           // octaves
constexpr std::array kAmplitudes = {0.05, 0.1, 0.2, 0.4, 0.8};  // log units

using Vector = std::vector<double>;

double covariance(const Vector& a, const Vector& b, const Vector& centre, double length,
                  double amplitude) {
  double trend = kOffsetVariance, square = 0;
  for (std::size_t d = 0; d < a.size(); ++d) {
    trend += std::pow(kSlopeSd * kLn2, 2) * (a[d] - centre[d]) * (b[d] - centre[d]);
    square += (a[d] - b[d]) * (a[d] - b[d]);
  }
  const double r = std::sqrt(3.0 * square) / length;
  return trend + amplitude * amplitude * (1.0 + r) * std::exp(-r);
}

double prior_mean(const Surface& s, const Vector& x) {
  double mean = s.offset;
  for (std::size_t d = 0; d < x.size(); ++d) {
    mean += s.prior.slopes[d] * kLn2 * (x[d] - s.centre[d]);
  }
  return mean;
}

// Points with equal features become one: the mean, with the error of a mean.
std::vector<SurfacePoint> merged(std::vector<SurfacePoint> points) {
  std::sort(points.begin(), points.end(), [](const SurfacePoint& a, const SurfacePoint& b) {
    return std::pair(a.features, a.log_time) < std::pair(b.features, b.log_time);
  });
  std::vector<SurfacePoint> result;
  for (std::size_t i = 0; i < points.size();) {
    std::size_t end = i;
    double sum = 0, squares = 0;
    for (; end < points.size() && points[end].features == points[i].features; ++end) {
      sum += points[end].log_time;
      squares += std::pow(points[end].log_error, 2);
    }
    const auto count = static_cast<double>(end - i);
    result.push_back({points[i].features, sum / count, std::sqrt(squares) / count});
    i = end;
  }
  return result;
}

struct Trial {
  double score = -std::numeric_limits<double>::infinity();
  double loo_error = 0;
};

// Fills the Gaussian process of `s` for its length and amplitude; -infinity when it is singular.
Trial solve_process(Surface& s) {
  const std::size_t n = s.points.size();
  Matrix k(n), lower(n);
  Vector residual(n);
  for (std::size_t i = 0; i < n; ++i) {
    residual[i] = s.points[i].log_time - prior_mean(s, s.points[i].features);
    for (std::size_t j = 0; j <= i; ++j) {
      k(i, j) = k(j, i) =
          covariance(s.points[i].features, s.points[j].features, s.centre, s.length, s.amplitude);
    }
    k(i, i) += std::pow(std::max(s.points[i].log_error, kLeastError), 2);
  }
  Trial trial;
  if (!cholesky(k, lower)) return trial;
  s.weights = solve(lower, residual);
  const Vector inverse = inverse_diagonal(lower);
  trial.score = 0;
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double e = s.weights[i] / inverse[i];
    trial.score -= 0.5 * (e * e * inverse[i] - std::log(inverse[i]));
    squares += e * e;
  }
  trial.loo_error = std::sqrt(squares / static_cast<double>(n));
  s.lower = std::move(lower.at);
  return trial;
}

void choose_process(Surface& s) {
  Trial best;
  double length = kLengths.back(), amplitude = kAmplitudes[2];
  for (const double l : kLengths) {
    for (const double a : kAmplitudes) {
      s.length = l;
      s.amplitude = a;
      const Trial trial = solve_process(s);
      if (trial.score > best.score) {
        best = trial;
        length = l;
        amplitude = a;
      }
    }
  }
  s.length = length;
  s.amplitude = amplitude;
  s.loo_error = solve_process(s).loo_error;
  s.slopes.assign(s.prior.slopes.size(), 0.0);
  for (std::size_t d = 0; d < s.slopes.size(); ++d) {
    double shift = 0;
    for (std::size_t i = 0; i < s.points.size(); ++i) {
      shift += s.weights[i] * (s.points[i].features[d] - s.centre[d]);
    }
    const double slope = s.prior.slopes[d] + kSlopeSd * kSlopeSd * kLn2 * shift;
    s.slopes[d] = std::clamp(slope, 0.0, 1.0);
  }
}

double posterior_mean(const Surface& s, const Vector& x) {
  double value = prior_mean(s, x);
  for (std::size_t i = 0; i < s.points.size(); ++i) {
    value += s.weights[i] * covariance(x, s.points[i].features, s.centre, s.length, s.amplitude);
  }
  return value;
}

double posterior_sd(const Surface& s, const Vector& x) {
  const std::size_t n = s.points.size();
  Vector k(n);
  for (std::size_t i = 0; i < n; ++i) {
    k[i] = covariance(x, s.points[i].features, s.centre, s.length, s.amplitude);
  }
  Matrix lower(0);
  lower.size = n;
  lower.at = s.lower;
  double variance = covariance(x, x, s.centre, s.length, s.amplitude);
  for (const double v : solve_lower(lower, std::move(k))) variance -= v * v;
  return std::sqrt(std::max(variance, 0.0));
}

double node_count(const std::vector<Vector>& axes) {
  double count = 1;
  for (const Vector& axis : axes) count *= static_cast<double>(axis.size());
  return count;
}

// Every second coordinate of the longest axis goes, until the lattice is of bearable size.
void thin(std::vector<Vector>& axes) {
  while (node_count(axes) > kLatticeLimit) {
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
    if (nodes * static_cast<double>(axis->size() + 1) > kRefinedLimit) return;
    const double middle = 0.5 * ((*axis)[place - 1] + (*axis)[place]);
    axis->insert(axis->begin() + static_cast<std::ptrdiff_t>(place), middle);
  }
}

// Sorted distinct coordinates of each feature, thinned or refined.
std::vector<Vector> axes_of(const std::vector<SurfacePoint>& points, std::size_t features) {
  std::vector<Vector> axes(features);
  for (std::size_t d = 0; d < features; ++d) {
    for (const SurfacePoint& p : points) axes[d].push_back(p.features[d]);
    std::sort(axes[d].begin(), axes[d].end());
    axes[d].erase(std::unique(axes[d].begin(), axes[d].end()), axes[d].end());
  }
  thin(axes);
  refine(axes);
  return axes;
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

void build_lattice(Surface& s) {
  s.axes = axes_of(s.points, s.prior.slopes.size());
  std::size_t count = 1;
  for (const Vector& axis : s.axes) count *= axis.size();
  s.lattice.resize(count);
  Vector x(s.axes.size());
  for (std::size_t node = 0; node < count; ++node) {
    std::size_t rest = node;
    for (std::size_t d = s.axes.size(); d-- > 0; rest /= s.axes[d].size()) {
      x[d] = s.axes[d][rest % s.axes[d].size()];
    }
    s.lattice[node] = posterior_mean(s, x);
    for (const SurfacePoint& p : s.points) {
      if (p.features != x) continue;
      const double reach = 1.96 * p.log_error;
      s.lattice[node] = std::clamp(s.lattice[node], p.log_time - reach, p.log_time + reach);
    }
  }
  make_monotone(s.axes, s.lattice);
}

// Multilinear inside the box; `x` must lie in it.
double interpolate(const Surface& s, const Vector& x) {
  const std::size_t dimensions = s.axes.size();
  std::vector<std::size_t> low(dimensions);
  Vector part(dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) {
    const Vector& axis = s.axes[d];
    const auto above = std::upper_bound(axis.begin(), axis.end(), x[d]);
    const auto index = static_cast<std::size_t>(above - axis.begin());
    low[d] = std::min(index == 0 ? 0 : index - 1, axis.size() - 1);
    const std::size_t high = std::min(low[d] + 1, axis.size() - 1);
    const double width = axis[high] - axis[low[d]];
    part[d] = width > 0 ? (x[d] - axis[low[d]]) / width : 0.0;
  }
  double sum = 0;
  for (std::size_t corner = 0; corner < (std::size_t{1} << dimensions); ++corner) {
    double weight = 1;
    std::size_t node = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
      const bool upper = (corner >> d) & 1U;
      weight *= upper ? part[d] : 1.0 - part[d];
      node = node * s.axes[d].size() + std::min(low[d] + (upper ? 1 : 0), s.axes[d].size() - 1);
    }
    if (weight > 0) sum += weight * s.lattice[node];
  }
  return sum;
}

}  // namespace

Surface fit_surface(std::vector<SurfacePoint> points, SurfacePrior prior) {
  expects(!points.empty(), "fit_surface: at least one point");
  const std::size_t features = prior.slopes.size();
  for (const SurfacePoint& p : points) {
    expects(p.features.size() == features, "fit_surface: every point has the prior's features");
    expects(std::isfinite(p.log_time) && p.log_error >= 0, "fit_surface: times are finite");
  }
  Surface s;
  s.prior = std::move(prior);
  s.points = merged(std::move(points));
  s.centre.assign(features, 0.0);
  const auto n = static_cast<double>(s.points.size());
  for (const SurfacePoint& p : s.points) {
    for (std::size_t d = 0; d < features; ++d) s.centre[d] += p.features[d] / n;
  }
  double offset = 0;
  for (const SurfacePoint& p : s.points) offset += (p.log_time - prior_mean(s, p.features)) / n;
  s.offset = offset;
  choose_process(s);
  build_lattice(s);
  return s;
}

SurfaceValue evaluate(const Surface& surface, const std::vector<double>& features) {
  expects(features.size() == surface.axes.size(), "evaluate: as many features as were fitted");
  SurfaceValue value;
  Vector inside = features;
  double outside = 0;
  for (std::size_t d = 0; d < features.size(); ++d) {
    const double low = surface.axes[d].front(), high = surface.axes[d].back();
    constexpr double kRounding = 1e-9;
    if (features[d] < low - kRounding || features[d] > high + kRounding) value.extrapolated = true;
    inside[d] = std::clamp(features[d], low, high);
    const double slope = features[d] > high ? 1.0 : surface.slopes[d];
    outside += slope * kLn2 * (features[d] - inside[d]);
  }
  value.log_time = interpolate(surface, inside) + outside;
  value.log_sd = std::hypot(posterior_sd(surface, features), kLooShare * surface.loo_error);
  return value;
}

std::vector<double> leave_one_out(const std::vector<SurfacePoint>& points,
                                  const SurfacePrior& prior) {
  std::vector<double> residuals;
  for (std::size_t i = 0; i < points.size() && points.size() > 1; ++i) {
    std::vector<SurfacePoint> others = points;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Surface surface = fit_surface(std::move(others), prior);
    residuals.push_back(evaluate(surface, points[i].features).log_time - points[i].log_time);
  }
  return residuals;
}

}  // namespace plimsoll::models
