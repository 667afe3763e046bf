// Statistics against published and hand-worked values, and what one or equal samples may claim.

#include "core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "tests/catch.hpp"

namespace plimsoll {
namespace {

using Values = std::vector<double>;

Values counting(int from, int count) {
  Values values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), static_cast<double>(from));
  return values;
}

TEST_CASE("median of odd and even counts, in any order") {
  CHECK(median(Values{3}) == 3);
  CHECK(median(Values{9, 1, 5}) == 5);
  CHECK(median(Values{9, 1, 5, 2}) == 3.5);
  CHECK(median(Values{1e308, 1e308}) == 1e308);  // no overflow on the way
}

TEST_CASE("quantile is type 7, as quantile(1:10, p) in R") {
  const Values ten = counting(1, 10);
  CHECK(quantile(ten, 0) == 1);
  CHECK(quantile(ten, 0.10) == Approx(1.9));
  CHECK(quantile(ten, 0.25) == Approx(3.25));
  CHECK(quantile(ten, 0.90) == Approx(9.1));
  CHECK(quantile(ten, 1) == 10);
  CHECK(quantile(Values{7}, 0.99) == 7);
}

TEST_CASE("spread: textbook examples") {
  CHECK(median_absolute_deviation(Values{1, 1, 2, 2, 4, 6, 9}) == 1);
  const Values marks{2, 4, 4, 4, 5, 5, 7, 9};
  CHECK(mean(marks) == Approx(5));
  CHECK(*standard_deviation(marks) == Approx(std::sqrt(32.0 / 7)));
}

TEST_CASE("standard deviation does not cancel far from zero") {
  CHECK(*standard_deviation(Values{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}) ==
        Approx(std::sqrt(30.0)));
}

TEST_CASE("geometric mean: textbook examples, absent where it is undefined") {
  CHECK(*geometric_mean(Values{2, 8}) == Approx(4));
  CHECK(*geometric_mean(Values{4, 1, 1.0 / 32}) == Approx(0.5));
  CHECK_FALSE(geometric_mean(Values{1, 0}));
  CHECK_FALSE(geometric_mean(Values{1, -2}));
}

TEST_CASE("one sample claims no spread and no confidence") {
  const Values one{10};
  CHECK_FALSE(standard_deviation(one));
  const Summary summary = summarize(one);
  CHECK(summary.count == 1);
  CHECK(summary.mad == 0);
  CHECK((summary.min == 10 && summary.p99 == 10 && summary.max == 10));
  CHECK(median_interval(one).confidence == 0);
  CHECK(bootstrap_interval(one, median).confidence == 0);
  CHECK(ratio_of_medians(one, counting(1, 9))->interval.confidence == 0);
  CHECK(mann_whitney(one, Values{11}).p_value == 1);
  CHECK(mann_whitney(one, counting(20, 5)).p_value > 0.05);
}

TEST_CASE("equal samples: spread zero, nothing divided, no difference from themselves") {
  for (const double level : {7.0, 0.0}) {
    const Values equal(30, level);
    CHECK(*standard_deviation(equal) == 0);
    CHECK(median_absolute_deviation(equal) == 0);
    CHECK(median_interval(equal).low == level);
    CHECK(median_interval(equal).high == level);
    CHECK(mann_whitney(equal, equal).p_value == 1);  // the normal branch
    const Samples few(equal.data(), 5);
    CHECK(mann_whitney(few, few).p_value == 1);  // the exact branch
    CHECK(mann_whitney(few, few).superiority == 0.5);
  }
  CHECK(ratio_of_medians(Values(9, 7.0), Values(9, 7.0))->value == 1);
  CHECK_FALSE(ratio_of_medians(Values(9, 7.0), Values(9, 0.0)));
}

TEST_CASE("no set of samples differs from itself") {
  for (int count = 1; count <= 30; ++count) {
    CHECK(mann_whitney(counting(1, count), counting(1, count)).p_value == Approx(1));
  }
}

TEST_CASE("summary fields carry the report's names") {
  const auto fields = summary_fields(summarize(counting(1, 101)));
  CHECK(fields.at("min") == 1);
  CHECK(fields.at("median") == 51);
  CHECK(fields.at("p90") == 91);
  CHECK(fields.at("p99") == 100);
  CHECK(fields.at("max") == 101);
  CHECK(fields.at("mad") == 25);
  CHECK(fields.at("count") == 101);
}

struct RankRow {
  int count;
  double low, high, confidence;
};

TEST_CASE("median interval: ranks and coverage of the binomial table") {
  for (const auto& row :
       {RankRow{6, 1, 6, 0.96875}, RankRow{10, 2, 9, 0.978515625}, RankRow{20, 6, 15, 0.95861053},
        RankRow{25, 8, 18, 0.95671475}, RankRow{50, 18, 33, 0.96716086},
        RankRow{100, 40, 61, 0.96479980}, RankRow{1000, 469, 532, 0.95370880}}) {
    const Interval interval = median_interval(counting(1, row.count));
    INFO("n = " << row.count);
    CHECK(interval.low == row.low);
    CHECK(interval.high == row.high);
    CHECK(interval.confidence == Approx(row.confidence).epsilon(1e-7));
    CHECK(interval.method == "order-statistic");
  }
}

TEST_CASE("median interval of few samples is their range and says how sure that is") {
  const Interval five = median_interval(Values{5, 1, 4, 2, 3});
  CHECK(five.low == 1);
  CHECK(five.high == 5);
  CHECK(five.confidence == Approx(0.9375));
  CHECK(five.method == "range");
  CHECK(median_interval(Values{1, 2}).confidence == Approx(0.5));
  // Asked for less, four samples suffice: 1 - 2 / 16.
  CHECK(median_interval(Values{1, 2, 3, 4}, 0.8).method == "order-statistic");
}

TEST_CASE("median interval of very many samples does not underflow") {
  const Interval interval = median_interval(counting(1, 100'000));
  CHECK(interval.confidence == Approx(0.95).margin(0.003));
  CHECK(interval.low == Approx(50'000 - 1.96 * std::sqrt(100'000) / 2).margin(3));
}

TEST_CASE("median interval covers as often as it says, on a skewed distribution") {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> draw(1.0);
  int covered = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Values samples(25);
    for (double& x : samples) x = draw(random);
    const Interval interval = median_interval(samples);
    if (interval.low <= std::log(2.0) && std::log(2.0) <= interval.high) ++covered;
  }
  CHECK(covered / 2000.0 == Approx(0.9567).margin(0.015));  // three standard errors
}

TEST_CASE("bootstrap: same seed, same bits; holds the statistic; other seeds differ a little") {
  const Values samples{12, 15, 11, 18, 14, 13, 17, 16, 12, 19};
  const Interval a = bootstrap_interval(samples, mean);
  const Interval b = bootstrap_interval(samples, mean);
  CHECK((a.low == b.low && a.high == b.high));
  CHECK((a.low < mean(samples) && mean(samples) < a.high));
  const Interval c = bootstrap_interval(samples, mean, {.seed = 2});
  CHECK((a.low != c.low || a.high != c.high));
  // Normal theory: 14.7 +- 1.96 * 2.71 * sqrt(9 / 10) / sqrt(10).
  CHECK(a.low == Approx(13.1).margin(0.25));
  CHECK(a.high == Approx(16.3).margin(0.25));
  CHECK(a.method == "bootstrap");
}

TEST_CASE("Mann-Whitney: exact, published examples") {
  // SciPy's mannwhitneyu manual page: diagnosis ages of men and women.
  const MannWhitney ages = mann_whitney(Values{19, 22, 16, 29, 24}, Values{20, 11, 17, 12});
  CHECK(ages.u == 17);
  CHECK(ages.exact);
  CHECK(ages.p_value == Approx(1.0 / 9));
  CHECK(ages.superiority == Approx(0.85));
  // R's wilcox.test manual page (Hollander and Wolfe): W = 35, one-sided p = 0.1272.
  const MannWhitney membrane =
      mann_whitney(Values{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46},
                   Values{1.15, 0.88, 0.90, 0.74, 1.21});
  CHECK(membrane.u == 35);
  CHECK(membrane.p_value == Approx(2 * 0.1272).margin(1e-4));
}

TEST_CASE("Mann-Whitney: ties are exact too, and sides can be swapped") {
  // All 126 choices of four of the nine ranks counted by hand (a script): 14 are as extreme.
  const MannWhitney tied = mann_whitney(Values{1, 2, 2, 3}, Values{2, 3, 4, 4, 5});
  CHECK(tied.p_value == Approx(14.0 / 126));
  const MannWhitney swapped = mann_whitney(Values{2, 3, 4, 4, 5}, Values{1, 2, 2, 3});
  CHECK(swapped.p_value == Approx(tied.p_value));
  CHECK(tied.u + swapped.u == 20);
}

TEST_CASE("Mann-Whitney: the fewest samples that can reach p < 0.05") {
  CHECK(mann_whitney(counting(1, 3), counting(11, 3)).p_value == Approx(2.0 / 20));
  CHECK(mann_whitney(counting(1, 4), counting(11, 4)).p_value == Approx(2.0 / 70));
  CHECK(kLeastSamplesForTest == 4);
}

TEST_CASE("Mann-Whitney: normal beyond twenty, with tie and continuity correction") {
  const MannWhitney apart = mann_whitney(counting(0, 21), counting(100, 21));
  CHECK_FALSE(apart.exact);
  CHECK(apart.u == 0);
  CHECK(apart.p_value == Approx(3.1254e-8).epsilon(1e-4));
  Values a, b;  // eight levels three times each, and the same two higher
  for (int i = 0; i < 24; ++i) {
    a.push_back(i / 3);
    b.push_back(i / 3 + 2);
  }
  const MannWhitney tied = mann_whitney(a, b);
  CHECK(tied.u == 162);
  CHECK(tied.p_value == Approx(0.00922004484).epsilon(1e-6));
}

TEST_CASE("Mann-Whitney: the exact and the normal branch meet at their border") {
  Values a = counting(1, 20);
  Values b = counting(5, 20);
  const double exact = mann_whitney(a, b).p_value;
  a.push_back(21);
  b.push_back(25);
  CHECK(mann_whitney(a, b).p_value == Approx(exact).margin(0.02));
}

TEST_CASE("ratio of medians: value, direction and interval") {
  const auto doubled = ratio_of_medians(Values{20, 22, 18, 21, 19, 20, 21},  //
                                        Values{10, 11, 9, 10.5, 9.5, 10, 10.5});
  REQUIRE(doubled);
  CHECK(doubled->value == Approx(2));
  CHECK((doubled->interval.low > 1.7 && doubled->interval.low <= 2));
  CHECK((doubled->interval.high < 2.3 && doubled->interval.high >= 2));
  CHECK(ratio_of_medians(Values{1, 2, 3}, Values{1, -1, 5}) == std::nullopt);
}

}  // namespace
}  // namespace plimsoll
