// How a user trains for real: optimizers, checkpoints and resumes, evaluation, timelines, through
// the front command.

#include <algorithm>
#include <filesystem>

#include "tests/catch.hpp"
#include "tests/tools/command.hpp"

using namespace plimsoll;
using namespace plimsoll::test;
using Catch::Matchers::Contains;

namespace {

std::vector<std::string> train(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {
      "train", "--workload", "mlp", "--batch",    "32",           "--steps",
      "6",     "--warmup",   "2",   "--data-dir", "synthetic:200"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<double> losses_of(const std::string& path) {
  for (const Metric& metric : reports::read_report(path).metrics) {
    if (metric.name == "train.loss") return metric.samples;
  }
  return {};
}

}  // namespace

TEST_CASE("every flag of learning reaches the report, which is valid") {
  const tools::ScratchDirectory scratch;
  const std::string path = scratch.path() + "/run.json";
  const auto result = plimsoll::test::plimsoll(train({"--optimizer",
                                                      "adamw",
                                                      "--lr",
                                                      "0.001",
                                                      "--beta1",
                                                      "0.8",
                                                      "--beta2",
                                                      "0.95",
                                                      "--weight-decay",
                                                      "0.1",
                                                      "--clip",
                                                      "1.5",
                                                      "--lr-schedule",
                                                      "step",
                                                      "--lr-step-every",
                                                      "4",
                                                      "--lr-step-factor",
                                                      "0.5",
                                                      "--lr-warmup",
                                                      "3",
                                                      "--accumulate",
                                                      "3",
                                                      "--eval-every",
                                                      "3",
                                                      "--operators",
                                                      "--out",
                                                      path}));
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(invalid({path}).empty());
  const Report report = reports::read_report(path);
  const Run& run = std::get<Run>(report.subject);
  CHECK(run.optimizer == "adamw");
  CHECK(run.plan.optimizer == "adamw");
  CHECK(run.plan.accumulate == 3);
  CHECK(run.learning_rate == 0.001);
  REQUIRE(run.update.has_value());
  const UpdateRule expected{.beta1 = 0.8,
                            .beta2 = 0.95,
                            .epsilon = 1e-8,
                            .weight_decay = 0.1,
                            .clip_norm = 1.5,
                            .schedule = "step",
                            .warmup_steps = 3,
                            .step_every = 4,
                            .step_factor = 0.5};
  CHECK(*run.update == expected);
  CHECK(run.warmup_steps == 2);  // steps that are not measured: another matter than --lr-warmup
  const auto accuracy = std::ranges::find_if(
      report.metrics, [](const Metric& metric) { return metric.name == "train.accuracy"; });
  REQUIRE(accuracy != report.metrics.end());
  CHECK(accuracy->samples.size() == 3);  // after 3, 6 and 8 steps
  CHECK_THAT(result.out, Contains("adamw") && Contains("3 micro-batches") &&
                             Contains("gradients clipped at 1.5") && Contains("schedule step") &&
                             Contains("train.operator.time"));
}

TEST_CASE("flags that would do nothing are refused, with what was meant") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--optimizer", "lion"}, "sgd, adam, adamw"},
      {{"--optimizer", "adam", "--momentum", "0.5"}, "--beta1"},
      {{"--beta1", "0.5"}, "--optimizer adam"},
      {{"--lr-schedule", "step"}, "--lr-step-every"},
      {{"--lr-step-every", "5"}, "--lr-schedule step"},
      {{"--lr-schedule", "sawtooth"}, "constant, cosine, step"},
      {{"--accumulate", "0"}, "--accumulate"},
      {{"--weight-decay", "-1"}, "--weight-decay"},
      {{"--clip", "-1"}, "--clip"},
      {{"--optimizer", "adam", "--beta2", "1"}, "--beta2"},
      {{"--keep", "3"}, "--checkpoint"},
      {{"--checkpoint-every", "3"}, "--checkpoint"},
      {{"--checkpoint", "x", "--keep", "0"}, "--keep"},
      {{"--eval-every", "-2"}, "--eval-every"}};
  for (const auto& [flags, text] : wrong) {
    CAPTURE(flags[0], flags[1]);
    const auto result = plimsoll::test::plimsoll(train(flags));
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.err, Contains(text));
    CHECK(result.out.empty());
  }
  CHECK(!std::filesystem::exists("x"));
}

TEST_CASE("a training goes on where it was, to the bit, and says from where") {
  const tools::ScratchDirectory scratch;
  const std::string directory = scratch.path() + "/checkpoints";
  const auto out = [&](const std::string& name) { return scratch.path() + "/" + name + ".json"; };
  REQUIRE(plimsoll::test::plimsoll(train({"--out", out("whole"), "--checkpoint", directory,
                                          "--checkpoint-every", "3", "--keep", "2"}))
              .exit_code == 0);
  const std::vector<double> all = losses_of(out("whole"));
  REQUIRE(all.size() == 8);
  std::filesystem::remove(directory + "/step-000000000008.ckpt");

  const auto rest = plimsoll::test::plimsoll(
      train({"--out", out("rest"), "--resume", directory, "--checkpoint", directory}));
  INFO(rest.err);
  REQUIRE(rest.exit_code == 0);
  CHECK_THAT(rest.out, Contains("resumed at step 6 from " + directory));
  CHECK(losses_of(out("rest")) == std::vector<double>(all.begin() + 6, all.end()));
  CHECK(invalid({out("whole"), out("rest")}).empty());
  CHECK(std::filesystem::exists(directory + "/step-000000000008.ckpt"));

  const auto again = plimsoll::test::plimsoll(train({"--checkpoint", directory}));
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.err, Contains("--resume " + directory));
  const auto nothing_left = plimsoll::test::plimsoll(train({"--resume", directory}));
  CHECK(nothing_left.exit_code == 2);
  CHECK_THAT(nothing_left.err, Contains("8 of 8 steps"));
  const auto other =
      plimsoll::test::plimsoll(train({"--resume", directory, "--optimizer", "adam"}));
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.err, Contains("optimizer sgd") && Contains("of adam"));
  const auto none = plimsoll::test::plimsoll(train({"--resume", scratch.path() + "/none"}));
  CHECK(none.exit_code == 1);
  CHECK_THAT(none.err, Contains(scratch.path() + "/none"));
}

TEST_CASE("a timeline is written where it was asked for, and --json - stays alone on stdout") {
  const tools::ScratchDirectory scratch;
  const std::string trace = scratch.path() + "/t.json";
  const auto result = plimsoll::test::plimsoll(train({"--trace", trace, "--json", "-"}));
  REQUIRE(result.exit_code == 0);
  CHECK_NOTHROW(static_cast<void>(reports::from_json(result.out, "stdout")));
  CHECK_THAT(reports::read_text(trace), Contains("\"traceEvents\"") && Contains("worker 0") &&
                                            Contains("forward") && Contains("step 7"));
  const auto bad = plimsoll::test::plimsoll(train({"--trace", scratch.path() + "/no/t.json"}));
  CHECK(bad.exit_code == 1);
  CHECK_THAT(bad.err, Contains("no/t.json"));
}

TEST_CASE("every new word is explained") {
  for (const char* word : {"train.perplexity", "train.operator.time", "train.checkpoint_corrupt",
                           "train.resumed_otherwise", "train.diverged"}) {
    CAPTURE(word);
    CHECK(plimsoll::test::plimsoll({"explain", word}).exit_code == 0);
  }
}
