// How well the kernel tables of a machine report predict themselves: each point in turn is left out
// and predicted from the others. Prints a line per table and interpolator; no workload is involved.
//
//     loo_bench machine.json [all]
//
// `surface` is what the model uses. `nearest` keeps the rate of the nearest point, `weighted` an
// inverse-distance mean of log rates: what it was chosen over.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "models/fit/fit.hpp"
#include "models/numeric/surface.hpp"
#include "models/operator/kinds.hpp"
#include "reports/report.hpp"

using namespace plimsoll;
using namespace plimsoll::models;

namespace {

using Points = std::vector<SurfacePoint>;

double square_distance(const SurfacePoint& a, const SurfacePoint& b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.features.size(); ++d) {
    sum += std::pow(a.features[d] - b.features[d], 2);
  }
  return sum;
}

// ln of time over work, with work the product of all sizes.
double log_cost(const SurfacePoint& p) {
  double work = 0;
  for (const double f : p.features) work += f;
  return p.log_time - work * std::log(2.0);
}

std::vector<double> baseline(const Points& points, bool nearest_only) {
  std::vector<double> residuals;
  for (std::size_t i = 0; i < points.size(); ++i) {
    double sum = 0, weights = 0, best = 1e300, nearest = 0;
    for (std::size_t j = 0; j < points.size(); ++j) {
      if (j == i) continue;
      const double distance = square_distance(points[i], points[j]);
      if (distance < best) {
        best = distance;
        nearest = log_cost(points[j]);
      }
      const double weight = 1.0 / (distance * distance + 1e-6);
      sum += weight * log_cost(points[j]);
      weights += weight;
    }
    residuals.push_back((nearest_only ? nearest : sum / weights) - log_cost(points[i]));
  }
  return residuals;
}

void print(const std::string& table, const char* method, const std::vector<double>& residuals) {
  if (residuals.empty()) return;
  std::vector<double> errors;
  double bias = 0;
  for (const double r : residuals) {
    errors.push_back(std::abs(std::expm1(r)));
    bias += std::expm1(r) / static_cast<double>(residuals.size());
  }
  std::sort(errors.begin(), errors.end());
  const auto at = [&](double share) {
    return 100 * errors[static_cast<std::size_t>(share * static_cast<double>(errors.size() - 1))];
  };
  std::printf("%-56s %-9s n %4zu  median %5.1f %%  p90 %5.1f %%  max %6.1f %%  bias %+5.1f %%\n",
              table.c_str(), method, errors.size(), at(0.5), at(0.9), at(1.0), 100 * bias);
}

void judge(const std::string& name, const KindTable& table, bool every) {
  std::map<Load, Points> groups;
  for (const LoadedPoint& p : table.points) groups[p.load].push_back(p.point);
  for (const auto& [load, points] : groups) {
    if (points.size() < 3) continue;
    const std::string label = name + " threads " + std::to_string(load.threads) + " busy " +
                              std::to_string(load.busy_cores);
    const std::vector<double> residuals = leave_one_out(points, table.prior);
    const Surface surface = fit_surface(points, table.prior);
    print(label, "surface", residuals);
    print(label, "nearest", baseline(points, true));
    print(label, "weighted", baseline(points, false));
    std::printf("    length %g octaves, amplitude %g, trend", surface.length, surface.amplitude);
    for (const double slope : surface.slopes) std::printf(" %.2f", slope);
    std::printf("\n");
    for (std::size_t i = 0; every && i < points.size(); ++i) {
      std::printf("    ");
      for (const double f : points[i].features) std::printf("%8.0f", std::exp2(f));
      std::printf("  %10.3g us  %+6.1f %%\n", 1e6 * std::exp(points[i].log_time),
                  100 * std::expm1(residuals[i]));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: loo_bench machine.json [all]\n");
    return static_cast<int>(ExitCode::wrong_usage);
  }
  const bool every = argc > 2 && std::string(argv[2]) == "all";
  const Machine machine = fit(reports::read_report(argv[1]).metrics);
  for (const Direction d :
       {Direction::forward, Direction::backward_data, Direction::backward_weights}) {
    judge("linear " + to_string(d), linear_table(machine, DType::f32, d), every);
    judge("convolution " + to_string(d), convolution_table(machine, DType::f32, d), every);
    judge("max pool " + to_string(d), pool_table(machine, Pool::Mode::max, d), every);
    judge("average pool " + to_string(d), pool_table(machine, Pool::Mode::average, d), every);
  }
  for (const char* operation : {"relu_forward", "relu_backward", "softmax_cross_entropy_forward",
                                "softmax_cross_entropy_backward", "sgd_momentum", "gather_u8"}) {
    judge(operation, elementwise_table(machine, operation), every);
  }
  return 0;
}
