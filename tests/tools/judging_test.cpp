// The judge: errors, drift correction, the A/A floor, and what it refuses to judge.

#include "tools/plimsoll/judging.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tools/plimsoll/validating.hpp"

using namespace plimsoll;
using namespace plimsoll::tools;

namespace {

Metric number(const std::string& name, double value, std::vector<double> samples = {}) {
  Metric metric;
  metric.name = name;
  metric.unit = "s";
  metric.value = value;
  metric.samples = std::move(samples);
  return metric;
}

Report prediction(double seconds) {
  Prediction predicted;
  predicted.step_time = {.value = Seconds(seconds),
                         .low = Seconds(0.9 * seconds),
                         .high = Seconds(1.1 * seconds),
                         .kind = Kind::fitted,
                         .source = "test"};
  Report report;
  report.created = "2026-01-01T00:00:00.000000Z";
  report.subject = predicted;
  return report;
}

// A run whose reference loops took `slow` times as long as when the machine was probed (1 s).
Report run(double seconds, double slow = 1.0) {
  Run ran;
  ran.ranks.push_back({.rank = 0, .cpus = "0", .phases = {.forward = Seconds(0.4 * seconds)}});
  Report report;
  report.created = "2026-01-01T00:00:01.000000Z";
  report.subject = ran;
  report.metrics = {number("train.step_time", seconds),
                    number("reference.compute_f32.time", slow, {slow, slow}),
                    number("reference.memory.time", slow, {slow, slow})};
  return report;
}

const ReferenceTimes kProbed = {{"reference.compute_f32.time", {1.0, ""}},
                                {"reference.memory.time", {1.0, ""}}};

ValidationCell judge_one(const Report& predicted, const std::vector<Report>& runs) {
  std::vector<Judged> judged;
  for (const Report& r : runs) judged.push_back({&r, {.sha256 = "r", .path = "run.json"}});
  return judge({&predicted, {.sha256 = "p", .path = "prediction.json"}}, judged, kProbed);
}

}  // namespace

TEST_CASE("the error is (predicted - measured) / measured, of the median of the blocks") {
  const ValidationCell cell = judge_one(prediction(0.09), {run(0.10), run(0.09), run(0.30)});
  CHECK(cell.measured.value() == Approx(0.10));
  CHECK(cell.error == Approx(-0.10));
  CHECK(cell.inside == false);  // 0.10 lies above 0.099
  CHECK(judge_one(prediction(0.09), {run(0.095)}).inside);
}

TEST_CASE("an injected drift is divided out by the reference loops alone") {
  // The machine runs at half speed: loops and training both take twice as long.
  const ValidationCell cell = judge_one(prediction(0.10), {run(0.20, 2.0), run(0.20, 2.0)});
  CHECK(cell.drift_ratio == Approx(2.0));
  CHECK(cell.error == Approx(-0.5));
  CHECK(cell.corrected_error == Approx(0.0).margin(1e-12));
  // Training slowed down while the loops did not: no excuse.
  CHECK(judge_one(prediction(0.10), {run(0.20)}).corrected_error == Approx(-0.5));
}

TEST_CASE("loops of other work or other CPUs correct nothing, and it is told") {
  Report other = run(0.20, 2.0);
  other.metrics[1].source = "avx2 fma, 10 FLOP, on each of CPUs 0 at once";
  CHECK(judge_one(prediction(0.10), {other}).drift_ratio == Approx(2.0));  // by memory alone
  CHECK_FALSE(drift_unknown(reference_times(other), kProbed));
  other.metrics[2].source = "64 B read 2 times, on each of CPUs 0 at once";
  const ValidationCell cell = judge_one(prediction(0.10), {other});
  CHECK(cell.drift_ratio == 1.0);
  CHECK(cell.corrected_error == cell.error);
  CHECK(drift_unknown(reference_times(other), kProbed));
  CHECK(drift_unknown(reference_times(run(0.1)), {}));
  CHECK_FALSE(drift_unknown(reference_times(run(0.1)), kProbed));
}

TEST_CASE("the A/A spread is the spread of the same run; one run has none") {
  CHECK(judge_one(prediction(0.1), {run(0.10), run(0.12)}).aa_spread.value() ==
        Approx(0.02 / 0.11));
  CHECK_FALSE(judge_one(prediction(0.1), {run(0.10)}).aa_spread.has_value());
}

TEST_CASE("movement of the reference loops within a run is seen") {
  Report moved = run(0.1);
  moved.metrics[1].samples = {1.0, 1.3};
  CHECK(drift_within(moved) == Approx(0.3));
  CHECK(drift_within(run(0.1)) == 0.0);
}

TEST_CASE("a prediction that is not older than the run is refused") {
  Report late = prediction(0.1);
  late.created = "2026-01-01T00:00:02.000000Z";
  CHECK_THROWS_WITH(judge_one(late, {run(0.1)}), Catch::Matchers::Contains("predict first"));
}

TEST_CASE("a run of another plan, or started with another prediction, is refused") {
  Report other = run(0.1);
  std::get<Run>(other.subject).plan.batch = 7;
  CHECK_THROWS_WITH(judge_one(prediction(0.1), {other}), Catch::Matchers::Contains("another plan"));
  Report swapped = run(0.1);
  std::get<Run>(swapped.subject).prediction = ReportRef{.sha256 = "not p", .path = "x.json"};
  CHECK_THROWS_WITH(judge_one(prediction(0.1), {swapped}),
                    Catch::Matchers::Contains("SHA-256 differs"));
  Report silent = run(0.1);
  silent.metrics.clear();
  CHECK_THROWS_WITH(judge_one(prediction(0.1), {silent}),
                    Catch::Matchers::Contains("no train.step_time"));
}

TEST_CASE("summary figures over cells, by hand") {
  Validation validation;
  for (const double error : {-0.10, 0.02, 0.30}) {
    ValidationCell cell;
    cell.error = error;
    cell.corrected_error = error / 2;
    cell.inside = error < 0.2;
    validation.rows.push_back(cell);
  }
  const auto metrics = validation_metrics(validation, "analytic");
  const auto value = [&](const std::string& name, bool corrected) {
    for (const Metric& metric : metrics) {
      if (metric.name == name && std::get<bool>(metric.params.at("corrected")) == corrected) {
        return *metric.value;
      }
    }
    return -1.0;
  };
  CHECK(value("validation.error_median", false) == Approx(0.10));
  CHECK(value("validation.error_median", true) == Approx(0.05));
  CHECK(value("validation.error_max", false) == Approx(0.30));
  CHECK(value("validation.bias", false) == Approx(0.22 / 3));
  CHECK(value("validation.coverage", false) == Approx(2.0 / 3));
  CHECK(validation_metrics({}, "analytic").empty());
}

TEST_CASE("the suite has twelve cells of one core a worker, six on one CPU") {
  CHECK(validation_suite(2).size() == 12);
  CHECK(validation_suite(1).size() == 6);
  for (const Plan& plan : validation_suite(2)) CHECK(plan.threads == 1);
  CHECK(cell_name(validation_suite(2).front()) == "mlp-b64-w1");
}
