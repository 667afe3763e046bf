// make_prediction(): a machine report on disk in, a prediction that names its bytes out.

#include <string>

#include "core/error.hpp"
#include "reports/report.hpp"
#include "tests/catch.hpp"
#include "tests/tools/small_machine.hpp"
#include "tools/plimsoll/predicting.hpp"
#include "tools/plimsoll/scratch.hpp"

using namespace plimsoll;
using namespace plimsoll::tools;
using plimsoll::test::machine_report;

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
