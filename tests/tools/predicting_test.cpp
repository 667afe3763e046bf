// make_prediction(): a machine report on disk in, a prediction that names its bytes out.

#include <string>

#include "core/error.hpp"
#include "reports/report.hpp"
#include "tests/catch.hpp"
#include "tools/plimsoll/predicting.hpp"
#include "tools/plimsoll/scratch.hpp"

using namespace plimsoll;
using namespace plimsoll::tools;

namespace {

Metric metric(const std::string& name, const std::string& unit, Params params, double value) {
  Metric m;
  m.name = name;
  m.unit = unit;
  m.params = std::move(params);
  m.value = value;
  return m;
}

ParamValue count(std::int64_t v) { return v; }
ParamValue text(const char* v) { return std::string(v); }

// A machine of one core that knows what the mlp needs.
Report machine_report() {
  Report report;
  report.id = reports::new_id();
  report.created = reports::now_rfc3339();
  report.environment.usable_cpus = "0";
  report.environment.memory_bytes = 1'000'000'000;
  report.subject = MachineSubject{.level = "quick", .probes = {}, .missing = {}, .partial = false};
  for (const char* direction : {"forward", "backward_data", "backward_weights"}) {
    for (const std::int64_t n : {8, 2048}) {
      for (const std::int64_t m : {16, 2048}) {
        report.metrics.push_back(metric("kernel.matmul.rate", "FLOP/s",
                                        {{"m", count(m)},
                                         {"n", count(n)},
                                         {"k", count(512)},
                                         {"dtype", text("f32")},
                                         {"threads", count(1)},
                                         {"busy_cores", count(0)},
                                         {"direction", text(direction)}},
                                        5e10));
      }
    }
  }
  for (const char* operation : {"relu_forward", "relu_backward", "softmax_cross_entropy_forward",
                                "softmax_cross_entropy_backward", "sgd_momentum", "gather_u8"}) {
    report.metrics.push_back(metric("kernel.elementwise.bandwidth", "B/s",
                                    {{"operation", text(operation)},
                                     {"bytes", count(1'000'000)},
                                     {"threads", count(1)},
                                     {"busy_cores", count(0)}},
                                    8e9));
  }
  return report;
}

}  // namespace

TEST_CASE("a prediction names the machine report's id and the hash of its bytes") {
  const ScratchDirectory scratch;
  const std::string path = scratch.path() + "/machine.json";
  const Report machine = machine_report();
  reports::write_report(machine, path);
  const Report report = make_prediction(path, Plan{.batch = 256}, {"plimsoll", "predict"});
  const auto& prediction = std::get<Prediction>(report.subject);
  CHECK(prediction.machine.id == machine.id);
  CHECK(prediction.machine.sha256 == reports::sha256_hex(reports::read_text(path)));
  CHECK(prediction.step_time.value > Seconds(0));
  CHECK(report.command.argv.size() == 2);
  CHECK(report.metrics.front().name == "predict.step_time");
  // Strictly writable, and the same after reading again.
  const Report again = reports::from_json(reports::to_json(report), "test");
  CHECK(std::get<Prediction>(again.subject).step_time.value == prediction.step_time.value);
}

TEST_CASE("a plan that does not fit the machine's memory is said not to fit") {
  const ScratchDirectory scratch;
  const std::string path = scratch.path() + "/machine.json";
  reports::write_report(machine_report(), path);
  const auto has = [](const Report& report, const std::string& id) {
    for (const Finding& finding : report.findings) {
      if (finding.id == id) return true;
    }
    return false;
  };
  CHECK_FALSE(has(make_prediction(path, Plan{.batch = 256}, {}), "predict.does_not_fit"));
  CHECK(has(make_prediction(path, Plan{.batch = 1'000'000}, {}), "predict.does_not_fit"));
  CHECK(has(make_prediction(path, Plan{.batch = 1'000'000}, {}), "predict.extrapolated"));
}

TEST_CASE("what cannot be predicted is refused: no machine report, too many workers, no table") {
  const ScratchDirectory scratch;
  const std::string path = scratch.path() + "/machine.json";
  reports::write_report(machine_report(), path);
  CHECK_THROWS_AS(make_prediction(path, Plan{.batch = 8, .workers = 2}, {}), Error);  // one core
  CHECK_THROWS_WITH(make_prediction(path, Plan{.workload = "lenet", .batch = 8}, {}),
                    Catch::Matchers::Contains("plimsoll probe kernel.convolution"));
  const Report prediction = make_prediction(path, Plan{.batch = 8}, {});
  const std::string other = scratch.path() + "/prediction.json";
  reports::write_report(prediction, other);
  CHECK_THROWS_WITH(make_prediction(other, Plan{.batch = 8}, {}),
                    Catch::Matchers::Contains("not a machine report"));
}
