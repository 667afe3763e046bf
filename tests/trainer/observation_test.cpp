// What a run shows of itself: timelines, operators, utilisation, checkpoints, through the real
// binary.

#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "core/system/affinity.hpp"
#include "core/workloads/workloads.hpp"
#include "reports/trace.hpp"
#include "tests/catch.hpp"
#include "tests/reports/schema_check.hpp"
#include "tests/trainer/program.hpp"
#include "tests/trainer/trace_file.hpp"

using namespace plimsoll;
using namespace plimsoll::trainer::testing;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int two_if_possible() { return std::min(2, sys::affinity().count()); }

std::int64_t count_named(const std::vector<TracedSlice>& slices, const std::string& name) {
  return std::ranges::count_if(slices, [&](const TracedSlice& one) { return one.name == name; });
}

std::string trace_of(double begin, double end) {
  std::vector<reports::TraceSlice> slices{
      {.worker = 0, .track = "a", .name = "outer", .begin = Seconds(1), .end = Seconds(2)},
      {.worker = 0, .track = "a", .name = "inner", .begin = Seconds(begin), .end = Seconds(end)}};
  return reports::trace_json(slices);
}

}  // namespace

TEST_CASE("the reader of timelines notices what is wrong with one") {
  CHECK(read_trace(trace_of(1.0, 1.5)).problems.empty());
  CHECK(read_trace(trace_of(2.0, 2.5)).problems.empty());
  CHECK(!read_trace(trace_of(1.5, 2.5)).problems.empty());  // reaches out
  CHECK(!read_trace(trace_of(0.5, 0.7)).problems.empty());  // goes back
  CHECK(!read_trace(trace_of(1.7, 1.5)).problems.empty());  // backwards
  CHECK(!read_trace("{}").problems.empty());
  CHECK(!read_trace("[").problems.empty());
  CHECK(!read_trace(R"({"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "name": "x"}]})")
             .problems.empty());
}

TEST_CASE("a timeline has a track for each worker and stream; slices nest") {
  const Folder folder;
  reports::Job job = small_job("mlp", two_if_possible());
  job.plan.accumulate = 2;
  job.evaluate = true;
  job.trace = folder.path("trace.json");
  job.checkpoint = folder.path("c");
  job.checkpoint_every = 4;
  const ProgramRun run = run_trainer(job);
  INFO(run.child.err);
  REQUIRE(run.child.exit_code == 0);
  const TraceFile trace = read_trace(reports::read_text(job.trace));
  for (const std::string& problem : trace.problems) FAIL_CHECK(problem);
  REQUIRE(std::ssize(trace.tracks) == job.plan.workers);
  for (const auto& [worker, tracks] : trace.tracks) {
    INFO(worker);
    REQUIRE(tracks.contains("compute"));
    const auto& compute = tracks.at("compute");
    for (int step = 0; step < 8; ++step) {
      CHECK(count_named(compute, "step " + std::to_string(step)) == 1);
    }
    for (const char* name : {"forward", "backward"}) CHECK(count_named(compute, name) == 16);
    CHECK(count_named(compute, "optimizer") == 8);
    CHECK(count_named(compute, "checkpoint") == 2);
    CHECK(count_named(compute, "evaluation") == 1);
    // All but steps and what lies between them is inside a step, and of that step.
    for (const TracedSlice& slice : compute) {
      if (slice.name.starts_with("step ")) continue;
      const bool aside = slice.name == "checkpoint" || slice.name == "evaluation";
      const auto around = std::ranges::find_if(compute, [&](const TracedSlice& outer) {
        return outer.name == "step " + std::to_string(slice.step) &&
               outer.begin_us <= slice.begin_us + 1e-3 && slice.end_us <= outer.end_us + 1e-3;
      });
      CHECK((around == compute.end()) == aside);
    }
    CHECK(tracks.contains("loader 0"));
    if (job.plan.workers == 1) {
      CHECK(!tracks.contains("communication hidden"));
      continue;
    }
    // What is hidden has a track of its own, and lies inside backward.
    REQUIRE(tracks.contains("communication hidden"));
    for (const TracedSlice& slice : tracks.at("communication hidden")) {
      CHECK(std::ranges::any_of(compute, [&](const TracedSlice& outer) {
        return outer.name == "backward" && outer.step == slice.step &&
               outer.begin_us <= slice.begin_us + 1e-3 && slice.end_us <= outer.end_us + 1e-3;
      }));
    }
  }
}

TEST_CASE("without overlap nothing is hidden, and no track says so") {
  if (two_if_possible() < 2) return;
  const Folder folder;
  reports::Job job = small_job("mlp", 2);
  job.plan.overlap = false;
  job.trace = folder.path("trace.json");
  REQUIRE(run_trainer(job).child.exit_code == 0);
  const TraceFile trace = read_trace(reports::read_text(job.trace));
  CHECK(trace.problems.empty());
  for (const auto& [worker, tracks] : trace.tracks) {
    CHECK(!tracks.contains("communication hidden"));
    CHECK(tracks.contains("communication"));
  }
}

TEST_CASE("operators are timed on request, each direction with its kernel") {
  reports::Job job = small_job("lenet", two_if_possible());
  job.operators = true;
  const ProgramRun run = run_trainer(job);
  REQUIRE(run.report.has_value());
  CHECK(reports::testing::schema_errors(run.report_text, "run", true).empty());
  std::set<std::string> seen;
  const auto& implementations = std::get<Run>(run.report->subject).implementations;
  for (const Metric& metric : run.report->metrics) {
    if (metric.name != "train.operator.time") continue;
    const auto text = [&](const char* key) { return std::get<std::string>(metric.params.at(key)); };
    const std::string name = text("operator") + "." + text("direction");
    CHECK(seen.insert(name).second);
    CHECK(*metric.value > 0);
    CHECK(metric.samples.size() == 10);
    REQUIRE(implementations.contains(name));
    CHECK(implementations.at(name) == text("kernel"));
  }
  CHECK(seen.size() == implementations.size());
  CHECK(metric_of(*run.report, "train.operator.flop_rate").value.has_value());
  const ProgramRun plain = run_trainer(small_job());
  for (const Metric& metric : plain.report->metrics) {
    CHECK(!metric.name.starts_with("train.operator"));
  }
}

TEST_CASE("a text is judged by its perplexity, nats and tokens") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "the " + std::to_string(i % 7) + " ";
  reports::write_text(text, folder.path("text"));
  reports::Job job = small_job("gpt:nano,sequence=16", two_if_possible());
  job.data_dir = folder.path("text");
  job.evaluate_every = 4;
  const ProgramRun run = run_trainer(job);
  INFO(run.child.err);
  REQUIRE(run.report.has_value());
  CHECK(reports::testing::schema_errors(run.report_text, "run", true).empty());
  const Metric& loss = metric_of(*run.report, "train.test_loss");
  CHECK(has(loss.source, "nats a token"));
  REQUIRE(loss.samples.size() == 2);
  CHECK(loss.samples[1] < loss.samples[0]);
  CHECK(*metric_of(*run.report, "train.perplexity").value == Approx(std::exp(*loss.value)));
  const double accuracy = *metric_of(*run.report, "train.accuracy").value;
  CHECK((accuracy >= 0 && accuracy <= 1));
  CHECK(*metric_of(*run.report, "train.token_rate").value ==
        Approx(16 * *metric_of(*run.report, "train.sample_rate").value));
  CHECK(std::get<Run>(run.report->subject).optimizer ==
        workload_named("gpt:nano,sequence=16").default_optimizer);
  const ProgramRun plain = run_trainer(small_job());
  for (const Metric& metric : plain.report->metrics) {
    CHECK(metric.name != "train.perplexity");
    CHECK(metric.name != "train.token_rate");
  }
}

TEST_CASE("utilisation is of the peak of a machine report, or absent with its reason") {
  const ProgramRun without = run_trainer(small_job());
  REQUIRE(without.report.has_value());
  const Metric& absent = metric_of(*without.report, "train.utilisation");
  CHECK(absent.status == Status::skipped);
  CHECK(has(absent.reason, "--machine"));

  const Folder folder;
  Report machine = *without.report;
  machine.subject = MachineSubject{};
  machine.metrics.clear();
  for (const auto& [cores, rate] : {std::pair<std::int64_t, double>{1, 1e12}, {2, 5e12}}) {
    Metric metric;
    metric.name = "cpu.flops.rate";
    metric.unit = "FLOP/s";
    metric.value = rate;
    metric.params = {{"cores", cores}, {"dtype", std::string("f32")}};
    machine.metrics.push_back(metric);
  }
  reports::write_report(machine, folder.path("machine.json"));
  for (int workers = 1; workers <= two_if_possible(); ++workers) {
    reports::Job job = small_job("mlp", workers);
    job.machine = folder.path("machine.json");
    const ProgramRun run = run_trainer(job);
    REQUIRE(run.report.has_value());
    const Metric& metric = metric_of(*run.report, "train.utilisation");
    REQUIRE(metric.value.has_value());
    CHECK(*metric.value ==
          Approx(*metric_of(*run.report, "train.flop_rate").value / (workers == 1 ? 1e12 : 5e12)));
    CHECK(has(metric.source, machine.id));
  }
}

TEST_CASE("on a terminal a line tells step, loss, rate and time left, and goes when it ends") {
  const Folder folder;
  reports::Job job = small_job();
  job.steps = 1'000'000;
  job.out = folder.path("run.json");
  const std::string job_path = folder.path("job.json"), program = trainer_path();
  reports::write_text(reports::job_to_json(job), job_path);
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  REQUIRE(child >= 0);
  if (child == 0) {
    setenv("TERM", "xterm", 1);
    execl(program.c_str(), program.c_str(), "--job", job_path.c_str(), nullptr);
    _exit(127);
  }
  std::string shown;
  bool asked = false;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(terminal, buffer, sizeof(buffer))) > 0;) {
    shown.append(buffer, static_cast<std::size_t>(count));
    if (!asked && has(shown, " s left")) asked = kill(child, SIGINT) == 0;
  }
  close(terminal);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 130);
  INFO(shown);
  for (const char* part : {"step ", " of 1000002", "loss ", " samples/s", " s left", "\r\033[K"}) {
    CHECK(has(shown, part));
  }
}

TEST_CASE("the program goes on from its checkpoint, and says so") {
  const Folder folder;
  reports::Job job = small_job("mlp", two_if_possible());
  job.plan.optimizer = "adamw";
  job.update.schedule = "cosine";
  job.steps = 10;
  const ProgramRun whole = run_trainer(job);
  REQUIRE(whole.report.has_value());
  job.checkpoint = folder.path("c");
  job.checkpoint_every = 5;
  reports::Job first = job;
  first.steps = 3;  // 5 with its warm-up, but of another cosine
  REQUIRE(run_trainer(first).child.exit_code == 0);
  job.resume = folder.path("c");
  ProgramRun rest = run_trainer(job);
  REQUIRE(rest.report.has_value());
  CHECK(reports::testing::schema_errors(rest.report_text, "run", true).empty());
  const Run& subject = std::get<Run>(rest.report->subject);
  REQUIRE(subject.resumed.has_value());
  CHECK(subject.resumed->step == 5);
  CHECK(subject.optimizer == "adamw");
  REQUIRE(subject.update.has_value());
  CHECK(subject.update->schedule == "cosine");
  CHECK(metric_of(*rest.report, "train.loss").samples.size() == 7);

  // Whole again from step 5 of a run that was of 12 from its start: to the bit.
  std::filesystem::remove_all(folder.path("c"));
  job.resume.clear();
  REQUIRE(run_trainer(job).child.exit_code == 0);
  std::filesystem::remove(folder.path("c/step-000000000012.ckpt"));
  std::filesystem::remove(folder.path("c/step-000000000010.ckpt"));
  job.resume = folder.path("c");
  rest = run_trainer(job);
  REQUIRE(rest.report.has_value());
  CHECK(rest.child.err.empty());
  const std::vector<double>& all = metric_of(*whole.report, "train.loss").samples;
  CHECK(metric_of(*rest.report, "train.loss").samples ==
        std::vector<double>(all.begin() + 5, all.end()));

  // A changed file is named on stderr and in the report, and the one before it is used.
  std::filesystem::resize_file(folder.path("c/step-000000000012.ckpt"), 1000);
  rest = run_trainer(job);
  REQUIRE(rest.report.has_value());
  CHECK(has(rest.child.err, "step-000000000012.ckpt"));
  CHECK(has(rest.child.err, "cut off"));
  CHECK(finding_of(*rest.report, "train.checkpoint_corrupt") != nullptr);
  CHECK(std::get<Run>(rest.report->subject).resumed->step == 10);
  CHECK(metric_of(*rest.report, "train.loss").samples ==
        std::vector<double>(all.begin() + 10, all.end()));

  reports::Job other = job;
  other.plan.workload = "lenet";
  const ProgramRun refused = run_trainer(other);
  CHECK(refused.child.exit_code == 2);
  CHECK(has(refused.child.err, "of workload mlp ("));
  CHECK(has(refused.child.err, "this run is of lenet ("));
}

TEST_CASE("a run that diverges names the operator and keeps the checkpoint before") {
  const Folder folder;
  reports::Job job = small_job("mlp", two_if_possible());
  job.steps = 100;
  job.momentum = 0;
  job.learning_rate = 3e4;
  job.checkpoint = folder.path("c");
  job.checkpoint_every = 1;
  const ProgramRun run = run_trainer(job);
  INFO(run.child.err);
  CHECK(run.child.exit_code == 1);
  CHECK(has(run.child.err, "first not finite: "));
  CHECK(has(run.child.err, "step "));
  REQUIRE(run.report.has_value());
  const Finding* finding = finding_of(*run.report, "train.diverged");
  REQUIRE(finding != nullptr);
  CHECK(has(finding->message, "first not finite: "));
}
