// Every way to name a network, through the real command: options, files, and what is wrong.

#include <fstream>

#include "core/workloads/workloads.hpp"
#include "reports/workload_file.hpp"
#include "tests/catch.hpp"
#include "tests/tools/command.hpp"

using namespace plimsoll;
using namespace plimsoll::test;
using Catch::Matchers::Contains;

namespace {

const std::string kExamples = PLIMSOLL_SOURCE_DIR "/tests/data/workloads/";

Run trained(const std::string& workload, const std::string& data, const std::string& out,
            std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {
      "train",   "--workload", workload,   "--data-dir", data,    "--batch", "4",
      "--steps", "2",          "--warmup", "1",          "--out", out};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const auto result = plimsoll::test::plimsoll(arguments);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(invalid({out}).empty());
  return std::get<Run>(reports::read_report(out).subject);
}

}  // namespace

TEST_CASE("networks train by name, by options and from files, and the report says which") {
  const tools::ScratchDirectory scratch;
  const std::string out = scratch.path() + "/run.json";
  for (const char* name : {"resnet18:image=16", "gpt:nano,sequence=16,dropout=0.1"}) {
    INFO(name);
    const Run run = trained(name, "synthetic:64", out);
    const Workload workload = workload_named(name);
    CHECK(run.plan.workload == name);
    CHECK(run.workload.name == name);
    CHECK(run.workload.parameters == parameter_count(workload.graph));
    CHECK(run.workload.graph_sha256 == reports::graph_sha256(workload.graph));
  }
  for (const char* name : {"small-residual.json", "parallel-decoder.json"}) {
    INFO(name);
    const std::string path = kExamples + name;
    const Run run = trained(path, "synthetic:64", out, {"--workers", "2"});
    CHECK(run.plan.workload == path);
    CHECK(run.workload.name + ".json" == name);
    CHECK(run.workload.graph_sha256 ==
          reports::graph_sha256(reports::resolve_workload(path).workload.graph));
  }
}

TEST_CASE("gpt reads any file as text, and images can be augmented") {
  const tools::ScratchDirectory scratch;
  const std::string out = scratch.path() + "/run.json";
  CHECK(trained("gpt:nano,sequence=16", kExamples + "parallel-decoder.json", out).steps == 2);
  const auto losses = [&](std::vector<std::string> more) {
    static_cast<void>(trained("lenet", "synthetic:64", out, std::move(more)));
    const Report report = reports::read_report(out);
    for (const Metric& metric : report.metrics) {
      if (metric.name == "train.loss") return metric.samples;
    }
    FAIL("no train.loss");
    return std::vector<double>{};
  };
  const auto plain = losses({});
  const auto augmented = losses({"--augment"});
  CHECK(plain.size() == 3);
  CHECK(plain != augmented);
  CHECK(augmented == losses({"--augment"}));
  const auto refused = plimsoll::test::plimsoll({"train", "--workload", "gpt:nano", "--data-dir",
                                                 "synthetic:8", "--batch", "4", "--augment"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains("--augment"));
}

TEST_CASE("a network that cannot be is refused before anything runs") {
  const tools::ScratchDirectory scratch;
  const std::string path = scratch.path() + "/broken.json";
  std::string text = reports::read_text(kExamples + "small-residual.json");
  text.replace(text.find("\"out_features\": 10"), 18, "\"out_feature\": 10 ");
  std::ofstream(path) << text;
  const auto result = plimsoll::test::plimsoll({"train", "--workload", path});
  CHECK(result.exit_code == 1);
  CHECK(result.out.empty());
  CHECK_THAT(result.err,
             Contains("\"out_features\" is missing") && Contains("broken.json, line 27, column 5"));
  const auto option = plimsoll::test::plimsoll({"train", "--workload", "gpt:depth=3"});
  CHECK(option.exit_code == 2);
  CHECK_THAT(option.err, Contains("'depth'") && Contains("layers=4"));
  const auto absent = plimsoll::test::plimsoll({"train", "--workload", "./absent.json"});
  CHECK(absent.exit_code == 1);
  CHECK_THAT(absent.err, Contains("./absent.json"));
}
