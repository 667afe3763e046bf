// Statistics of samples; the promises are in the header.

#include "core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace plimsoll {
namespace {

std::vector<double> sorted(Samples samples) {
  expects(!samples.empty(), "statistics: needs at least one sample");
  std::vector<double> order(samples.begin(), samples.end());
  expects(std::ranges::all_of(order, [](double x) { return std::isfinite(x); }),
          "statistics: samples must be finite");
  std::ranges::sort(order);
  return order;
}

double quantile_of_sorted(const std::vector<double>& order, double p) {
  expects(p >= 0 && p <= 1, "quantile: p must be within 0 and 1");
  const double at = static_cast<double>(order.size() - 1) * p;
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= order.size()) return order.back();
  const double share = at - static_cast<double>(below);
  if (share == 0.0) return order[below];
  return order[below] + share * (order[below + 1] - order[below]);
}

double median_of_sorted(const std::vector<double>& order) {
  const std::size_t half = order.size() / 2;
  if (order.size() % 2 == 1) return order[half];
  return order[half - 1] + (order[half] - order[half - 1]) / 2;
}

double mad_of_sorted(const std::vector<double>& order) {
  const double middle = median_of_sorted(order);
  std::vector<double> distance(order.size());
  std::ranges::transform(order, distance.begin(), [&](double x) { return std::abs(x - middle); });
  std::ranges::sort(distance);
  return median_of_sorted(distance);
}

// Fills `out` with samples drawn with replacement. The remainder's bias is below 2^-40 for any
// count that fits in memory, and unlike std::uniform_int_distribution it is the same everywhere.
void resample(Samples samples, std::mt19937_64& random, std::vector<double>& out) {
  out.resize(samples.size());
  for (double& x : out) x = samples[random() % samples.size()];
}

Interval percentile_interval(std::vector<double> values, double confidence, bool informative) {
  std::ranges::sort(values);
  const double tail = (1 - confidence) / 2;
  return {.low = quantile_of_sorted(values, tail),
          .high = quantile_of_sorted(values, 1 - tail),
          .confidence = informative ? confidence : 0.0,
          .method = "bootstrap"};
}

void check(const BootstrapOptions& options) {
  expects(options.confidence > 0 && options.confidence < 1, "bootstrap: confidence within 0 and 1");
  expects(options.resamples >= 1, "bootstrap: needs at least one resample");
}

// Twice the mid-ranks of a joined with b (doubled, they are whole numbers), sorted by value; and
// the sizes of the groups of ties.
struct Ranking {
  std::vector<std::size_t> doubled_ranks;
  std::size_t doubled_rank_sum_a = 0;
  double tie_term = 0;  // sum of t^3 - t over groups of t equal samples
};

Ranking rank(Samples a, Samples b) {
  std::vector<std::pair<double, bool>> joined;  // value, comes from a
  for (const double x : sorted(a)) joined.emplace_back(x, true);
  for (const double x : sorted(b)) joined.emplace_back(x, false);
  std::ranges::sort(joined);
  Ranking ranking;
  for (std::size_t begin = 0; begin < joined.size();) {
    std::size_t end = begin;
    while (end < joined.size() && joined[end].first == joined[begin].first) ++end;
    const std::size_t doubled = begin + end + 1;  // 2 * mean of the 1-based ranks begin+1 .. end
    for (std::size_t i = begin; i < end; ++i) {
      ranking.doubled_ranks.push_back(doubled);
      if (joined[i].second) ranking.doubled_rank_sum_a += doubled;
    }
    const auto ties = static_cast<double>(end - begin);
    ranking.tie_term += ties * ties * ties - ties;
    begin = end;
  }
  return ranking;
}

// Two-sided p from all ways to choose which `size_a` of the joined ranks belong to a. Counts stay
// below C(40, 20) < 2^53, hence exact in a double.
double exact_p_value(const Ranking& ranking, std::size_t size_a) {
  const std::size_t most =
      std::accumulate(ranking.doubled_ranks.begin(), ranking.doubled_ranks.end(), std::size_t{0});
  // ways[k][s]: choices of k ranks seen so far whose doubled sum is s.
  std::vector<std::vector<double>> ways(size_a + 1, std::vector<double>(most + 1, 0.0));
  ways[0][0] = 1;
  for (const std::size_t r : ranking.doubled_ranks) {
    for (std::size_t k = size_a; k >= 1; --k) {
      for (std::size_t s = most; s >= r; --s) ways[k][s] += ways[k - 1][s - r];
    }
  }
  double all = 0, at_most = 0, at_least = 0;
  for (std::size_t s = 0; s <= most; ++s) {
    all += ways[size_a][s];
    if (s <= ranking.doubled_rank_sum_a) at_most += ways[size_a][s];
    if (s >= ranking.doubled_rank_sum_a) at_least += ways[size_a][s];
  }
  return std::min(1.0, 2 * std::min(at_most, at_least) / all);
}

double normal_p_value(double u, double size_a, double size_b, double tie_term) {
  const double n = size_a + size_b;
  const double variance = size_a * size_b / 12 * ((n + 1) - tie_term / (n * (n - 1)));
  if (variance <= 0) return 1;  // all samples equal
  const double off = std::max(0.0, std::abs(u - size_a * size_b / 2) - 0.5);
  return std::erfc(off / std::sqrt(2 * variance));
}

}  // namespace

double mean(Samples samples) {
  const std::vector<double> order = sorted(samples);
  double sum = 0;
  for (const double x : order) sum += x / static_cast<double>(order.size());
  return std::clamp(sum, order.front(), order.back());
}

double median(Samples samples) { return median_of_sorted(sorted(samples)); }

double quantile(Samples samples, double p) { return quantile_of_sorted(sorted(samples), p); }

double median_absolute_deviation(Samples samples) { return mad_of_sorted(sorted(samples)); }

std::optional<double> standard_deviation(Samples samples) {
  const double middle = mean(samples);
  if (samples.size() < 2) return std::nullopt;
  double sum = 0;
  for (const double x : samples) sum += (x - middle) * (x - middle);
  return std::sqrt(sum / static_cast<double>(samples.size() - 1));
}

std::optional<double> geometric_mean(Samples values) {
  const std::vector<double> order = sorted(values);
  if (order.front() <= 0) return std::nullopt;
  double sum = 0;
  for (const double x : order) sum += std::log(x);
  return std::clamp(std::exp(sum / static_cast<double>(order.size())), order.front(), order.back());
}

Summary summarize(Samples samples) {
  const std::vector<double> order = sorted(samples);
  return {.min = order.front(),
          .median = median_of_sorted(order),
          .p90 = quantile_of_sorted(order, 0.90),
          .p99 = quantile_of_sorted(order, 0.99),
          .max = order.back(),
          .mad = mad_of_sorted(order),
          .count = std::ssize(order)};
}

std::map<std::string, double> summary_fields(const Summary& summary) {
  return {{"min", summary.min},
          {"median", summary.median},
          {"p90", summary.p90},
          {"p99", summary.p99},
          {"max", summary.max},
          {"mad", summary.mad},
          {"count", static_cast<double>(summary.count)}};
}

Interval median_interval(Samples samples, double confidence) {
  expects(confidence > 0 && confidence < 1, "median_interval: confidence within 0 and 1");
  const std::vector<double> order = sorted(samples);
  const std::size_t n = order.size();
  // [x_(k+1), x_(n-k)] misses the median when at most k samples lie on one side of it. Widest
  // first (k = 0), as long as the next narrower one still has the confidence. Logarithms, since
  // 2^-n alone would underflow.
  double log_term = -static_cast<double>(n) * std::log(2.0);  // C(n, k) / 2^n
  double tail = std::exp(log_term);
  std::size_t k = 0;
  while (2 * (k + 1) < n) {
    log_term += std::log(static_cast<double>(n - k) / static_cast<double>(k + 1));
    const double next_tail = tail + std::exp(log_term);
    if (1 - 2 * next_tail < confidence) break;
    tail = next_tail;
    ++k;
  }
  const double achieved = n == 1 ? 0.0 : 1 - 2 * tail;
  return {.low = order[k],
          .high = order[n - 1 - k],
          .confidence = achieved,
          .method = achieved < confidence ? "range" : "order-statistic"};
}

Interval bootstrap_interval(Samples samples, const Statistic& statistic,
                            const BootstrapOptions& options) {
  expects(!samples.empty(), "bootstrap: needs at least one sample");
  check(options);
  std::mt19937_64 random(options.seed);
  std::vector<double> drawn, values;
  for (int i = 0; i < options.resamples; ++i) {
    resample(samples, random, drawn);
    values.push_back(statistic(drawn));
  }
  return percentile_interval(std::move(values), options.confidence, samples.size() > 1);
}

MannWhitney mann_whitney(Samples a, Samples b) {
  const Ranking ranking = rank(a, b);
  const auto size_a = static_cast<double>(a.size()), size_b = static_cast<double>(b.size());
  MannWhitney test;
  test.u = static_cast<double>(ranking.doubled_rank_sum_a) / 2 - size_a * (size_a + 1) / 2;
  test.superiority = test.u / (size_a * size_b);
  test.exact = std::max(std::ssize(a), std::ssize(b)) <= kMostSamplesForExactTest;
  test.p_value = test.exact ? exact_p_value(ranking, a.size())
                            : normal_p_value(test.u, size_a, size_b, ranking.tie_term);
  return test;
}

std::optional<Ratio> ratio_of_medians(Samples a, Samples b, const BootstrapOptions& options) {
  check(options);
  const double above = median(a);
  const double below = median(b);
  if (std::ranges::any_of(b, [](double x) { return x <= 0; })) return std::nullopt;
  std::mt19937_64 random(options.seed);
  std::vector<double> drawn_a, drawn_b, ratios;
  for (int i = 0; i < options.resamples; ++i) {
    resample(a, random, drawn_a);
    resample(b, random, drawn_b);
    ratios.push_back(median(drawn_a) / median(drawn_b));
  }
  const bool informative = a.size() > 1 && b.size() > 1;
  return Ratio{.value = above / below,
               .interval = percentile_interval(std::move(ratios), options.confidence, informative)};
}

}  // namespace plimsoll
