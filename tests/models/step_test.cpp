// A whole step on a machine whose answer is known by hand.

#include <cmath>
#include <limits>
#include <map>

#include "core/error.hpp"
#include "core/workloads/workloads.hpp"
#include "models/step.hpp"
#include "tests/catch.hpp"
#include "tests/models/machines.hpp"

using namespace plimsoll;
using namespace plimsoll::models;

namespace {

constexpr double kRate = 50e9, kBandwidth = 8e9;
constexpr double kMlpParameters = 784 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 10 + 10;

// The mlp's own shapes as measured points: what it takes is then plain arithmetic.
Machine mlp_machine(std::int64_t rows, int busy_cores) {
  Machine m = tests::flat_machine(FlopPerSecond(kRate), BytesPerSecond(kBandwidth), busy_cores);
  m.matmul.clear();
  for (const Direction d :
       {Direction::forward, Direction::backward_data, Direction::backward_weights}) {
    for (const std::int64_t n : {10, 1024}) {
      for (const std::int64_t k : {784, 1024}) {
        m.matmul.push_back({.m = rows,
                            .n = n,
                            .k = k,
                            .direction = d,
                            .load = {.threads = 1, .busy_cores = busy_cores},
                            .rate = tests::exact(FlopPerSecond(kRate))});
      }
    }
  }
  const double b = static_cast<double>(rows);
  const std::pair<const char*, double> moved[] = {
      {"relu_forward", 2 * 4 * b * 1024},
      {"relu_backward", 3 * 4 * b * 1024},
      {"softmax_cross_entropy_forward", 4 * (b * 10 + b) + 4 * b},
      {"softmax_cross_entropy_backward", 4 * 2 * b * 10 + 4 * b},
      {"sgd_momentum", 20 * kMlpParameters},
      {"gather_u8", 5 * b * 784}};
  for (const auto& [operation, bytes] : moved) {
    m.elementwise.push_back({.operation = operation,
                             .bytes = Bytes(bytes),
                             .load = {.threads = 1, .busy_cores = busy_cores},
                             .bandwidth = tests::exact(BytesPerSecond(kBandwidth))});
  }
  return m;
}

void add_all_reduce(Machine& m, int ranks, double latency, double bandwidth) {
  for (double bytes = 1024; bytes < 1e9; bytes *= 2) {
    m.all_reduce.push_back({.bytes = Bytes(bytes),
                            .ranks = ranks,
                            .comm = "threads",
                            .algorithm = "native",
                            .time = tests::exact(Seconds(latency + bytes / bandwidth))});
  }
}

double linear_flop(double m, double n, double k) { return 2 * m * n * k; }

// Forward and backward of the mlp with b rows, in seconds.
double mlp_forward(double b) {
  const double flop = linear_flop(b, 1024, 784) + b * 1024 + linear_flop(b, 1024, 1024) + b * 1024 +
                      linear_flop(b, 10, 1024) + b * 10;
  const double relu = 2 * (2 * 4 * b * 1024);  // two, each reads and writes
  const double loss = 4 * (b * 10 + b) + 4 * b;
  return flop / kRate + (relu + loss) / kBandwidth;
}
double mlp_backward(double b) {
  const double data = linear_flop(b, 10, 1024) + linear_flop(b, 1024, 1024);  // not the first layer
  const double weights = linear_flop(b, 10, 1024) + b * 10 + linear_flop(b, 1024, 1024) + b * 1024 +
                         linear_flop(b, 1024, 784) + b * 1024;
  const double relu = 2 * (3 * 4 * b * 1024);
  const double loss = 4 * 2 * b * 10 + 4 * b;
  return (data + weights) / kRate + (relu + loss) / kBandwidth;
}

}  // namespace

TEST_CASE("golden step: one worker") {
  const Machine m = mlp_machine(256, 0);
  const Prediction p = predict(m, mlp_workload(), {.batch = 256});
  CHECK(p.phases.forward.value() == Approx(mlp_forward(256)).epsilon(1e-9));
  CHECK(p.phases.backward.value() == Approx(mlp_backward(256)).epsilon(1e-9));
  CHECK(p.phases.optimizer.value() == Approx(20 * kMlpParameters / kBandwidth).epsilon(1e-9));
  const double input = 5.0 * 256 * 784 / kBandwidth;  // the loader shares the rank's core
  CHECK(p.phases.input.value() == Approx(input).epsilon(1e-9));
  CHECK(p.phases.communication_exposed == Seconds(0));
  CHECK(p.step_time.value.value() ==
        Approx(input + mlp_forward(256) + mlp_backward(256) + 20 * kMlpParameters / kBandwidth)
            .epsilon(1e-9));
  CHECK(p.workload.parameters == static_cast<std::int64_t>(kMlpParameters));
  CHECK(p.tier == "analytic");
}

TEST_CASE("golden step: two workers add the measured all-reduce of their buckets") {
  Machine m = mlp_machine(128, 1);
  m.usable_cores = 4;
  add_all_reduce(m, 2, 5e-6, 2e9);
  const Workload w = mlp_workload();
  const Plan plan{.batch = 256, .workers = 2};
  const Prediction p = predict(m, w, plan);
  double reduced = 0;
  for (const Bucket& b : buckets(w.graph, plan.bucket)) reduced += 5e-6 + b.bytes.value() / 2e9;
  CHECK(p.phases.forward.value() == Approx(mlp_forward(128)).epsilon(1e-9));
  const Phases& q = p.phases;
  const auto communication = q.communication_exposed + q.communication_hidden;
  CHECK(communication.value() == Approx(reduced).epsilon(0.01));
  CHECK(q.communication_hidden > Seconds(0));  // the first bucket is reduced during backward
  CHECK(p.step_time.value.value() ==
        Approx((q.input + q.forward + q.backward + communication + q.optimizer).value())
            .epsilon(1e-12));
  CHECK_FALSE(p.assumptions.empty());
}

TEST_CASE("phases and breakdown add up to the step") {
  Machine m = tests::flat_machine(FlopPerSecond(kRate), BytesPerSecond(kBandwidth), 1);
  m.usable_cores = 2;
  add_all_reduce(m, 2, 5e-6, 2e9);
  m.jitter_ratio = 0.02;
  const Prediction p =
      predict(m, lenet_workload(), {.workload = "lenet", .batch = 64, .workers = 2});
  const Phases& q = p.phases;
  CHECK(p.step_time.value.value() == Approx((q.input + q.h2d + q.forward + q.backward +
                                             q.communication_exposed + q.optimizer + q.idle)
                                                .value())
                                         .epsilon(1e-12));
  CHECK(total(q).value() == Approx(p.step_time.value.value()).epsilon(1e-12));
  double sum = 0;
  std::map<std::string, double> by_phase;
  for (const BreakdownItem& item : p.breakdown) {
    sum += item.seconds.value();
    by_phase[item.phase] += item.seconds.value();
  }
  CHECK(sum == Approx(p.step_time.value.value()).epsilon(1e-12));
  CHECK(by_phase["backward"] == Approx(q.backward.value()).epsilon(1e-12));
  CHECK(by_phase["communication_exposed"] ==
        Approx(q.communication_exposed.value()).epsilon(1e-12));
  CHECK(p.step_time.low <= p.step_time.value);
  CHECK(p.step_time.value <= p.step_time.high);
}

TEST_CASE("what runs during backward is work of the same cores: all phases are still the step") {
  Machine m = tests::flat_machine(FlopPerSecond(kRate), BytesPerSecond(kBandwidth), 1);
  m.usable_cores = 2;
  add_all_reduce(m, 2, 5e-6, 2e9);
  const Prediction p = predict(
      m, lenet_workload(), {.workload = "lenet", .batch = 64, .workers = 2, .bucket = Bytes(4096)});
  CHECK(p.phases.communication_hidden > Seconds(0));
  CHECK(total(p.phases).value() == Approx(p.step_time.value.value()).epsilon(1e-12));
}

TEST_CASE("uneven shares: the largest sets the pace, as in training") {
  Machine m = tests::flat_machine(FlopPerSecond(kRate), BytesPerSecond(kBandwidth), 3);
  add_all_reduce(m, 4, 5e-6, 2e9);
  const Prediction p = predict(m, mlp_workload(), {.batch = 10, .workers = 4});  // 3, 3, 2, 2
  bool stated = false;
  for (const std::string& text : p.assumptions)
    stated |= text.find("3 samples") != std::string::npos;
  CHECK(stated);
  const Prediction fewer = predict(m, mlp_workload(), {.batch = 3, .workers = 4});  // 1, 1, 1, 0
  CHECK(fewer.step_time.value > Seconds(0));
}

TEST_CASE("more machine is never slower, more work never faster") {
  Machine m = tests::flat_machine(FlopPerSecond(kRate), BytesPerSecond(kBandwidth));
  const auto step = [&](std::int64_t batch, const WhatIf& what_if = {}) {
    return predict(m, lenet_workload(), {.workload = "lenet", .batch = batch}, what_if)
        .step_time.value;
  };
  Seconds last;
  for (const std::int64_t batch : {1, 3, 17, 64, 100, 1000, 5000}) {
    CHECK(step(batch) >= last);
    last = step(batch);
  }
  for (const char* input : {"compute", "memory", "all_reduce", "loader"}) {
    WhatIf better;
    set(better, std::string(input) + "=x2");
    CHECK(step(256, better) <= step(256));
  }
}

TEST_CASE("sensitivity: elasticities of rates lie in [-1, 0] and sum to -1 here") {
  const Machine m = tests::flat_machine(FlopPerSecond(kRate), BytesPerSecond(kBandwidth));
  Machine with_ceilings = m;
  with_ceilings.compute.push_back({"f32", "avx2", 1, tests::exact(FlopPerSecond(kRate))});
  with_ceilings.bandwidths.push_back({"read", Bytes(1e6), 1, tests::exact(BytesPerSecond(1e12))});
  with_ceilings.elementwise.clear();
  for (const auto& e : m.elementwise) with_ceilings.elementwise.push_back(e);
  const Prediction p = predict(with_ceilings, mlp_workload(), {.batch = 256});
  double sum = 0;
  for (const Sensitivity& s : p.sensitivity) {
    CHECK(s.elasticity <= 1e-9);
    CHECK(s.elasticity >= -1 - 1e-9);
    sum += s.elasticity;
  }
  CHECK(sum == Approx(-1).epsilon(1e-3));
  CHECK(p.binds == "compute");
}

TEST_CASE("the same input gives the same bits and leaves its arguments alone") {
  Machine m = tests::flat_machine(FlopPerSecond(kRate), BytesPerSecond(kBandwidth), 1);
  add_all_reduce(m, 2, 5e-6, 2e9);
  const Plan plan{.workload = "lenet", .batch = 250, .workers = 2};
  const Prediction a = predict(m, lenet_workload(), plan), b = predict(m, lenet_workload(), plan);
  CHECK(a.step_time.value == b.step_time.value);
  CHECK(a.step_time.low == b.step_time.low);
  REQUIRE(a.breakdown.size() == b.breakdown.size());
  for (std::size_t i = 0; i < a.breakdown.size(); ++i) {
    CHECK(a.breakdown[i].seconds == b.breakdown[i].seconds);
  }
}

TEST_CASE("interval: wider measurements and drift widen it") {
  const auto width = [](const Machine& m) {
    const auto t = predict(m, mlp_workload(), {.batch = 256}).step_time;
    return t.high / t.low;
  };
  const Machine exact = mlp_machine(256, 0);
  Machine noisy = exact;
  for (MatmulSample& s : noisy.matmul) s.rate = tests::within(s.rate.value, 0.2);
  CHECK(width(noisy) > width(exact) * 1.1);
  Machine drifting = exact;
  drifting.drift_ratio = 0.1;
  CHECK(width(drifting) > width(exact) * 1.2);
}

TEST_CASE("bad plans are refused naming the flag; huge ones do not wrap") {
  const Machine m = tests::flat_machine(FlopPerSecond(kRate), BytesPerSecond(kBandwidth));
  for (const std::int64_t batch :
       {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    CHECK_THROWS_AS(predict(m, mlp_workload(), {.batch = batch}), Error);
  }
  CHECK_THROWS_AS(predict(m, mlp_workload(), {.batch = 8, .workers = 0}), Error);
  CHECK_THROWS_AS(predict(m, mlp_workload(), {.batch = 8, .workers = 5}), Error);  // 4 cores
  CHECK_THROWS_AS(predict(m, mlp_workload(), {.batch = 8, .sync = "gather"}), Error);
  CHECK_THROWS_AS(predict(m, mlp_workload(), {.batch = 8, .device = "cuda"}), Error);
  for (const std::int64_t batch :
       {std::int64_t{1} << 31, std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max()}) {
    const Prediction p = predict(m, mlp_workload(), {.batch = batch});
    CHECK(std::isfinite(p.step_time.high.value()));
    // Far above the table the last rate holds: time per sample does not change.
    const Prediction less = predict(m, mlp_workload(), {.batch = batch / 2});
    CHECK(p.step_time.value > less.step_time.value);
    CHECK_FALSE(p.extrapolated.empty());
  }
}

TEST_CASE("two workers without a collective sweep: the error names the probe") {
  const Machine m = tests::flat_machine(FlopPerSecond(kRate), BytesPerSecond(kBandwidth), 1);
  CHECK_THROWS_WITH(predict(m, mlp_workload(), {.batch = 8, .workers = 2}),
                    Catch::Matchers::Contains("collective.all_reduce"));
}

TEST_CASE("metrics carry the contract's names and the interval turned round") {
  Machine m = mlp_machine(256, 0);
  m.compute.push_back({"f32", "avx2", 1, tests::exact(FlopPerSecond(2 * kRate))});
  m.drift_ratio = 0.05;
  const Prediction p = predict(m, mlp_workload(), {.batch = 256});
  std::map<std::string, Metric> metrics;
  for (const Metric& metric : metrics_of(p, m)) metrics[metric.name] = metric;
  for (const char* name :
       {"predict.step_time", "predict.sample_rate", "predict.flop_rate", "predict.utilisation",
        "predict.peak_memory", "predict.phase.input", "predict.phase.h2d", "predict.phase.forward",
        "predict.phase.backward", "predict.phase.communication_exposed",
        "predict.phase.communication_hidden", "predict.phase.optimizer", "predict.phase.idle"}) {
    INFO(name);
    CHECK(metrics.contains(name));
  }
  const Metric& rate = metrics["predict.sample_rate"];
  CHECK(*rate.value == Approx(256 / p.step_time.value.value()));
  CHECK(rate.interval->low == Approx(256 / p.step_time.high.value()));
  CHECK(*metrics["predict.utilisation"].value < 1);
  CHECK(*metrics["predict.utilisation"].value > 0.3);
}

TEST_CASE("what-if assignments: parsed strictly") {
  WhatIf w;
  set(w, "memory=x2");
  set(w, "dispatch=x0.5");
  CHECK(w.memory_ratio == 2);
  CHECK(w.dispatch_ratio == 0.5);
  for (const char* bad : {"memory", "memory=2", "memory=x", "memory=x0", "memory=x-1",
                          "memory=xnan", "memory=xinf", "memory=x2y", "link=x2", "=x2", ""}) {
    INFO(bad);
    CHECK_THROWS_AS(set(w, bad), Error);
  }
}
