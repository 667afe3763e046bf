// What samples say: pure functions from samples to numbers, and nothing that they cannot know.
//
// Samples must be finite and at least one (a broken promise otherwise). What one sample or equal
// samples cannot tell is absent or states confidence 0; nothing here divides by a spread.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "core/record.hpp"

namespace plimsoll {

using Samples = std::span<const double>;

// --- One set of samples --------------------------------------------------------------------------
[[nodiscard]] double mean(Samples samples);
[[nodiscard]] double median(Samples samples);  // of an even count: the mean of the middle two
// Hyndman and Fan's type 7 (the default of R and NumPy): linear between the order statistics
// around (n - 1) p. Asks 0 <= p <= 1.
[[nodiscard]] double quantile(Samples samples, double p);
// Median of |x - median|, not scaled to a normal deviation (that would be times 1.4826).
[[nodiscard]] double median_absolute_deviation(Samples samples);
// With n - 1 in the denominator; absent for one sample, which has no spread.
[[nodiscard]] std::optional<double> standard_deviation(Samples samples);
// Absent unless every value is positive.
[[nodiscard]] std::optional<double> geometric_mean(Samples values);

struct Summary {
  double min = 0, median = 0, p90 = 0, p99 = 0, max = 0, mad = 0;
  std::int64_t count = 0;
};
[[nodiscard]] Summary summarize(Samples samples);
// The same under the names that reports use; starts off Metric::summary.
[[nodiscard]] std::map<std::string, double> summary_fields(const Summary& summary);

// --- Intervals -----------------------------------------------------------------------------------
// Of the median, between two order statistics. Needs no distribution: it holds the median unless
// all but k samples fell on one side, which is a binomial tail. `confidence` in the answer is what
// the interval has (at least what was asked), method "order-statistic". Fewer than six samples
// cannot give 95 %: then the answer is their range with the confidence that this has,
// 1 - 2^(1 - n), method "range"; for one sample that is 0.
[[nodiscard]] Interval median_interval(Samples samples, double confidence = 0.95);

// Percentile bootstrap of any statistic. Same samples and seed, same interval. With one sample
// its confidence is 0.
using Statistic = std::function<double(Samples)>;
struct BootstrapOptions {
  double confidence = 0.95;
  int resamples = 2000;
  std::uint64_t seed = 1;
};
[[nodiscard]] Interval bootstrap_interval(Samples samples, const Statistic& statistic,
                                          const BootstrapOptions& options = {});

// --- Two sets of samples -------------------------------------------------------------------------
// With fewer samples than this on either side a two-sided test cannot reach p < 0.05: claim no
// difference, whatever the medians.
inline constexpr std::int64_t kLeastSamplesForTest = 4;
inline constexpr std::int64_t kMostSamplesForExactTest = 20;

struct MannWhitney {
  double u = 0;        // pairs in which a > b, ties as one half
  double p_value = 1;  // two-sided
  bool exact = true;   // from the exact permutation distribution (ties included), not the normal
  double superiority = 0.5;  // u / (n_a n_b): chance that a sample of a exceeds one of b
};
// Exact when both sides have at most kMostSamplesForExactTest samples; else normal with
// tie correction and continuity correction. All samples equal: p = 1.
[[nodiscard]] MannWhitney mann_whitney(Samples a, Samples b);

// median(a) / median(b), its interval by resampling both sides. Absent unless all samples of b
// are positive.
struct Ratio {
  double value = 1;
  Interval interval;
};
[[nodiscard]] std::optional<Ratio> ratio_of_medians(Samples a, Samples b,
                                                    const BootstrapOptions& options = {});

}  // namespace plimsoll
