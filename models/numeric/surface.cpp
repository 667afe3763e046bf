// A sum of costs, a Gaussian process (kriging) over log sizes for what they leave over, made
// monotone on a lattice.
//
//     ln t(x) = ln(sum_j a_j prod_d x_d^e_jd) + g(x)
//     cov g   = v0 + sum_d v (x_d - c_d)(x'_d - c_d) + a^2 M(|x - x'| / l)
//     M(r)    = (1 + sqrt3 r) exp(-sqrt3 r)       (Matern 3/2)
//
// With few points the costs speak (monomials.cpp), with many the table. Length l, amplitude a, the
// scatter of times beyond their intervals and the vector lanes that one feature fills up to are
// those of a small grid with the best leave-one-out predictive density, which is closed-form:
// residual_i = w_i / (K^-1)_ii.
//
// The posterior mean is taken at the nodes of a lattice through the measured coordinates, clamped
// at measured nodes into the measurement's interval (widened by the scatter), and made monotone
// (lattice.cpp). Outside the box time follows the posterior trend downwards, and upwards the last
// rate (time proportional to size). The standard error is that of the process and half the table's
// own leave-one-out error, added in squares: the process alone trusts its smoothness too much.
//
// Source    Rasmussen and Williams, Gaussian Processes for Machine Learning, 2.7, 4.2 and 5.4.2.
// Assumes   More work takes more time; sizes act through their logarithms.
// Fails     Where an implementation switches kernels between two sizes and gets faster.
// Limits    One point: its costs through it. Equal shapes: their mean.
// Tests     tests/models/numeric/surface_test.cpp: exactness, monotonicity, leave-one-out bounds.

#include "models/numeric/surface.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "models/numeric/cholesky.hpp"

namespace plimsoll::models {
namespace {

constexpr double kOffsetVariance = 25.0;  // of ln t: nearly free
constexpr double kSlopeSd = 0.25;         // of d ln t / d ln size around the costs'
constexpr double kLn2 = 0.6931471805599453;
constexpr double kLooShare = 0.5;  // a real gap is half as wide as one with a point left out
constexpr std::array kLengths = {1.0, 2.0, 4.0, 8.0};  // octaves
constexpr std::array kLanes = {1.0, 8.0, 16.0};  // f32 elements of a vector: none, 32, 64 bytes
constexpr double kMiddleLength = 4.0, kMiddleAmplitude = 0.4;
// Between shapes, beyond the intervals; the first is what any timing has.
constexpr std::array kScatters = {0.005, 0.03, 0.1};
constexpr double kEvidence = 3.0;  // nats by which lanes or scatter must explain a table better
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

// The feature that fills vectors, rounded up to whole ones.
Vector padded(const Surface& s, Vector x) {
  if (s.prior.lanes_feature < 0 || s.lanes <= 1) return x;
  double& feature = x[static_cast<std::size_t>(s.prior.lanes_feature)];
  constexpr double kRounding = 1e-9;
  feature = std::log2(std::ceil(std::exp2(feature) / s.lanes - kRounding) * s.lanes);
  return x;
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
    residual[i] = s.points[i].log_time - models::log_time(s.mean, s.points[i].features);
    for (std::size_t j = 0; j <= i; ++j) {
      k(i, j) = k(j, i) =
          covariance(s.points[i].features, s.points[j].features, s.centre, s.length, s.amplitude);
    }
    k(i, i) += std::pow(s.points[i].log_error, 2) + s.scatter * s.scatter;
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

// Places the points and their trend for the lanes of `s`.
void place_points(Surface& s, const std::vector<SurfacePoint>& raw) {
  s.points = raw;
  s.centre.assign(raw.front().features.size(), 0.0);
  const auto n = static_cast<double>(raw.size());
  for (SurfacePoint& p : s.points) {
    p.features = padded(s, std::move(p.features));
    for (std::size_t d = 0; d < s.centre.size(); ++d) s.centre[d] += p.features[d] / n;
  }
  std::vector<Vector> places;
  Vector times;
  for (const SurfacePoint& p : s.points) {
    places.push_back(p.features);
    times.push_back(p.log_time);
  }
  s.mean = fit_cost_sum(s.prior.terms, places, times);
}

// Length, amplitude and scatter of the best score; leaves the process solved.
Trial choose_scales(Surface& s) {
  Trial best;
  double length = kMiddleLength, amplitude = kMiddleAmplitude, scatter = kScatters.front();
  for (const double z : kScatters) {
    for (const double l : kLengths) {
      for (const double a : kAmplitudes) {
        s.length = l;
        s.amplitude = a;
        s.scatter = z;
        Trial trial = solve_process(s);
        if (z > kScatters.front()) trial.score -= kEvidence;
        if (trial.score <= best.score) continue;
        best = trial;
        length = l;
        amplitude = a;
        scatter = z;
      }
    }
  }
  s.length = length;
  s.amplitude = amplitude;
  s.scatter = scatter;
  return solve_process(s);
}

// A table can speak of lanes only where different sizes fill the same vectors.
bool tells_lanes(const Surface& s, const std::vector<SurfacePoint>& raw) {
  if (s.prior.lanes_feature < 0) return false;
  const auto feature = static_cast<std::size_t>(s.prior.lanes_feature);
  std::set<double> sizes, filled;
  for (const SurfacePoint& p : raw) {
    sizes.insert(p.features[feature]);
    filled.insert(padded(s, p.features)[feature]);
  }
  return filled.size() < sizes.size();
}

void choose_process(Surface& s, const std::vector<SurfacePoint>& raw) {
  double best = -std::numeric_limits<double>::infinity(), lanes = 1;
  s.length = kMiddleLength;
  s.amplitude = kMiddleAmplitude;
  s.scatter = kScatters[1];
  for (const double candidate : kLanes) {
    s.lanes = candidate;
    if (candidate > 1 && !tells_lanes(s, raw)) continue;
    place_points(s, raw);
    const double score = solve_process(s).score - (candidate > 1 ? kEvidence : 0.0);
    if (score > best) {
      best = score;
      lanes = candidate;
    }
  }
  s.lanes = lanes;
  place_points(s, raw);
  s.loo_error = choose_scales(s).loo_error;
  // The trend in the middle of the table: of the costs, and what the process adds to it.
  s.slopes = slopes(s.mean, s.centre);
  for (std::size_t d = 0; d < s.slopes.size(); ++d) {
    for (std::size_t i = 0; i < s.points.size(); ++i) {
      s.slopes[d] +=
          kSlopeSd * kSlopeSd * kLn2 * s.weights[i] * (s.points[i].features[d] - s.centre[d]);
    }
    s.slopes[d] = std::clamp(s.slopes[d], 0.0, 1.0);
  }
}

double posterior_mean(const Surface& s, const Vector& x) {
  double value = models::log_time(s.mean, x);
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

// What was measured at a place: the mean of equal shapes, and its reach.
struct Measured {
  double sum = 0, square_errors = 0, count = 0;
  [[nodiscard]] double held(double value) const {
    const double mean = sum / count;
    const double reach = 1.96 * std::sqrt(square_errors) / count;
    return std::clamp(value, mean - reach, mean + reach);
  }
};

bool all_less_or_equal(const Vector& a, const Vector& b) {
  return std::equal(a.begin(), a.end(), b.begin(), std::less_equal<>());
}

// Between measurements of less work and of more work: an overshoot there would bend the
// measurements themselves when the lattice is made monotone.
double between(const std::map<Vector, double>& held, const Vector& x, double value) {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  for (const auto& [place, time] : held) {
    if (all_less_or_equal(place, x)) low = std::max(low, time);
    if (all_less_or_equal(x, place)) high = std::min(high, time);
  }
  return low <= high ? std::clamp(value, low, high) : value;
}

void build_lattice(Surface& s) {
  std::map<Vector, Measured> measured;
  const bool scattered = s.scatter > kScatters.front();
  for (const SurfacePoint& p : s.points) {
    Measured& m = measured[p.features];
    m.sum += p.log_time;
    m.square_errors += p.log_error * p.log_error + (scattered ? s.scatter * s.scatter : 0.0);
    m.count += 1;
  }
  std::map<Vector, double> held;
  std::vector<Vector> places;
  for (const auto& [place, m] : measured) {
    held[place] = m.held(posterior_mean(s, place));
    places.push_back(place);
  }
  s.lattice = monotone_lattice(lattice_axes(places), [&](const Vector& x) {
    const auto here = held.find(x);
    return here != held.end() ? here->second : between(held, x, posterior_mean(s, x));
  });
}

}  // namespace

Surface fit_surface(const std::vector<SurfacePoint>& points, SurfacePrior prior) {
  expects(!points.empty(), "fit_surface: at least one point");
  const std::size_t features = points.front().features.size();
  for (const SurfacePoint& p : points) {
    expects(p.features.size() == features, "fit_surface: every point has as many features");
    expects(std::isfinite(p.log_time) && p.log_error >= 0, "fit_surface: times are finite");
  }
  Surface s;
  s.prior = std::move(prior);
  choose_process(s, points);
  build_lattice(s);
  return s;
}

SurfaceValue evaluate(const Surface& surface, const std::vector<double>& features) {
  expects(features.size() == surface.lattice.axes.size(), "evaluate: as many features as fitted");
  SurfaceValue value;
  const Vector x = padded(surface, features);
  double outside = 0;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const double low = surface.lattice.axes[d].front(), high = surface.lattice.axes[d].back();
    constexpr double kRounding = 1e-9;
    if (x[d] < low - kRounding || x[d] > high + kRounding) value.extrapolated = true;
    const double slope = x[d] > high ? 1.0 : surface.slopes[d];
    outside += slope * kLn2 * (x[d] - std::clamp(x[d], low, high));
  }
  value.log_time = interpolate(surface.lattice, x) + outside;
  value.log_sd = std::hypot(posterior_sd(surface, x), kLooShare * surface.loo_error);
  return value;
}

std::vector<double> leave_one_out(const std::vector<SurfacePoint>& points,
                                  const SurfacePrior& prior) {
  std::vector<double> residuals;
  for (std::size_t i = 0; i < points.size() && points.size() > 1; ++i) {
    std::vector<SurfacePoint> others = points;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Surface surface = fit_surface(others, prior);
    residuals.push_back(evaluate(surface, points[i].features).log_time - points[i].log_time);
  }
  return residuals;
}

}  // namespace plimsoll::models
