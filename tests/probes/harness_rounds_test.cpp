// Cases and rounds with subjects whose times are made up, so that nothing here depends on speed.

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "probes/harness/case_run.hpp"
#include "probes/harness/google_json.hpp"
#include "probes/harness/measure.hpp"
#include "probes/harness/rounds.hpp"
#include "tests/catch.hpp"

namespace plimsoll::probes {
namespace {

// What the subjects of a test did, in order.
struct Log {
  std::vector<std::string> runs;
  std::map<std::string, int> alive;
  int most_alive = 0;
};

class Fake final : public Subject {
 public:
  Fake(std::string name, Log& log, double each) : name_(std::move(name)), log_(log), each_(each) {
    ++log_.alive[name_];
    int all = 0;
    for (const auto& [key, count] : log_.alive) all += count;
    log_.most_alive = std::max(log_.most_alive, all);
  }
  ~Fake() override { --log_.alive[name_]; }
  Seconds run(std::int64_t operations) override {
    log_.runs.push_back(name_);
    return Seconds(each_ * static_cast<double>(operations));
  }
  [[nodiscard]] double work() const override { return 4; }
  [[nodiscard]] std::optional<std::string> verify() override { return std::nullopt; }
  [[nodiscard]] std::string source() const override { return "fake"; }

 private:
  std::string name_;
  Log& log_;
  double each_;
};

const ProbeInfo kInfo{
    .id = "fake.probe",
    .question = "?",
    .method = "made-up times",
    .metrics = {{"fake.time", "s", "time", 0, 1e9}, {"fake.rate", "B/s", "rate", 0, 1e18}}};

Case fake_case(const std::string& name, Log& log, double each, std::size_t metric = 0,
               int group = 0) {
  return {.metric = metric,
          .params = {{"name", name}},
          .make = [name, &log, each] { return std::make_unique<Fake>(name, log, each); },
          .group = group};
}

HarnessOptions quick_options() {
  HarnessOptions options;
  options.probe.level = Level::quick;
  options.max_time = Seconds(2.9);  // below this the reference loops rest
  return options;
}

TEST_CASE("names list the parameters in order") {
  CHECK(case_name("a.b", {{"z", std::int64_t{3}}, {"k", std::string("v")}, {"f", true}}) ==
        "a.b/f:true/k:v/z:3");
}

TEST_CASE("operations are calibrated to the sample time") {
  Log log;
  for (const double each : {1e-9, 1e-6, 1e-3, 1.0}) {
    const Case one = fake_case("x", log, each);
    CaseRun run(one, kInfo.metrics[0]);
    REQUIRE(run.prepare(Seconds(2e-3)));
    const double sample = each * static_cast<double>(run.operations());
    if (each < 1e-3) CHECK(sample == Approx(2e-3).epsilon(0.6));
    if (each >= 2e-3) CHECK(run.operations() == 1);
  }
}

TEST_CASE("a time is divided by work, a rate divides it") {
  Log log;
  const std::vector<Case> cases = {fake_case("time", log, 1e-3, 0),
                                   fake_case("rate", log, 1e-3, 1)};
  const Measured measured = measure(cases, kInfo, quick_options());
  CHECK(*measured.cases[0].value == Approx(1e-3 / 4));
  CHECK(*measured.cases[1].value == Approx(4 / 1e-3));
  CHECK(measured.cases[0].better == Better::lower);
  CHECK(measured.cases[1].better == Better::higher);
  CHECK(measured.cases[0].source == "fake");
  CHECK(measured.cases[0].checked == true);
  CHECK(measured.cases[0].interval->confidence >= 0.95);
  CHECK(measured.cases[0].summary.at("count") == 6);
  CHECK(measured.cases[0].summary.contains("stopped_noise_below_target"));
}

TEST_CASE("every round takes one sample a case, in a new order") {
  Log log;
  std::vector<Case> cases;
  for (const char* name : {"a", "b", "c", "d", "e"}) cases.push_back(fake_case(name, log, 1.0));
  std::vector<CaseRun> runs;
  runs.reserve(cases.size());
  for (const Case& one : cases) runs.emplace_back(one, kInfo.metrics[0]);
  std::vector<CaseRun*> pointers;
  for (CaseRun& run : runs) {
    REQUIRE(run.prepare(Seconds(1e-3)));
    pointers.push_back(&run);
  }
  log.runs.clear();
  Effort effort;
  effort.rule = {.noise_target = 0, .min_samples = 4, .max_samples = 4};
  run_rounds(pointers, effort, {.budget = Seconds(100), .out_of_time = [] { return false; }}, 1);
  REQUIRE(log.runs.size() == 5 * 5);  // the first round is dropped
  std::vector<std::string> orders;
  for (std::size_t round = 0; round < 5; ++round) {
    std::vector<std::string> order(log.runs.begin() + static_cast<std::ptrdiff_t>(5 * round),
                                   log.runs.begin() + static_cast<std::ptrdiff_t>(5 * round + 5));
    std::string text;
    for (const std::string& name : order) text += name;
    orders.push_back(text);
    std::ranges::sort(order);
    CHECK(order == std::vector<std::string>{"a", "b", "c", "d", "e"});
  }
  CHECK(std::ranges::count(orders, orders.front()) < 5);
  for (const CaseRun& run : runs) CHECK(run.times().size() == 4);
}

TEST_CASE("groups run one after the other and free their subjects") {
  Log log;
  const std::vector<Case> cases = {fake_case("a", log, 1e-3, 0, 1), fake_case("b", log, 1e-3, 0, 1),
                                   fake_case("c", log, 1e-3, 0, 2)};
  const Measured measured = measure(cases, kInfo, quick_options());
  CHECK(measured.cases.size() == 3);
  CHECK(log.most_alive == 2);
  const auto first_of_c = std::ranges::find(log.runs, "c");
  CHECK(std::find(first_of_c, log.runs.end(), "a") == log.runs.end());
}

TEST_CASE("time that is up leaves reasons instead of numbers") {
  Log log;
  const std::vector<Case> cases = {fake_case("a", log, 1e-3, 0, 1),
                                   fake_case("b", log, 1e-3, 0, 2)};
  HarnessOptions options = quick_options();
  options.max_time = Seconds(1e-9);
  const Measured measured = measure(cases, kInfo, options);
  CHECK(measured.out_of_time);
  for (const Metric& metric : measured.cases) {
    CHECK(metric.status == Status::skipped);
    CHECK(metric.reason.starts_with("time_limit"));
    CHECK_FALSE(metric.value.has_value());
  }
}

TEST_CASE("Google Benchmark's JSON holds finite numbers and tells failed from skipped") {
  Log log;
  std::vector<Case> cases = {fake_case("good", log, 1e-3, 1), fake_case("skip", log, 1e-3),
                             fake_case("fail", log, 1e-3)};
  cases[1].skip = "not here";
  cases[2].make = []() -> std::unique_ptr<Subject> { throw std::runtime_error("no device"); };
  HarnessOptions options = quick_options();
  options.context = {{"purpose", "test"}};
  const Measured measured = measure(cases, kInfo, options);
  Tool tool;
  tool.version = "1.2.3";
  tool.build_type = "Release";
  const std::string text = google_json(measured, tool, options);
  const auto json = nlohmann::json::parse(text);
  CHECK(json["context"]["library_build_type"] == "release");
  CHECK(json["context"]["purpose"] == "test");
  std::map<std::string, int> kinds;
  for (const auto& row : json["benchmarks"]) {
    const std::string name = row["run_name"];
    if (row.value("error_occurred", false)) {
      const std::string message = row["error_message"];
      CHECK(message.starts_with(name.ends_with("skip") ? "skipped: " : "failed: "));
      ++kinds["error"];
      continue;
    }
    if (row["run_type"] == "aggregate") {
      ++kinds["aggregate"];
      continue;
    }
    CHECK(row["real_time"].get<double>() == Approx(1e6));
    CHECK(row["time_unit"] == "ns");
    CHECK(row["bytes_per_second"].get<double>() == Approx(4000));
    ++kinds["iteration"];
  }
  CHECK(kinds["error"] == 2);
  CHECK(kinds["iteration"] == 6);
  CHECK(kinds["aggregate"] == 4);
  tool.build_type = "Debug";
  CHECK(google_json(measured, tool, options).find("\"library_build_type\": \"debug\"") !=
        std::string::npos);
}

}  // namespace
}  // namespace plimsoll::probes
