// The trainer as users meet it: reports, refusals, interrupts, divergence, through the real binary.

#include <csignal>
#include <filesystem>

#include "core/system/affinity.hpp"
#include "tests/catch.hpp"
#include "tests/reports/schema_check.hpp"
#include "tests/trainer/program.hpp"

using namespace plimsoll;
using namespace plimsoll::trainer::testing;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int usable() { return sys::affinity().count(); }

}  // namespace

TEST_CASE("a run leaves a report that fits the schema, with every metric it promises") {
  for (const char* workload : {"mlp", "lenet"}) {
    for (int workers = 1; workers <= std::min(2, usable()); ++workers) {
      reports::Job job = small_job(workload, workers);
      job.evaluate = true;
      const ProgramRun run = run_trainer(job);
      INFO(run.child.err);
      REQUIRE(run.child.exit_code == 0);
      REQUIRE(run.report.has_value());
      CHECK(reports::testing::schema_errors(run.report_text, "run", true).empty());
      CHECK(run.child.out.empty());
      CHECK(run.child.err.empty());  // no progress where nobody watches
      const Report& report = *run.report;
      for (const char* name : {"step_time", "sample_rate", "flop_rate", "loss", "accuracy",
                               "peak_memory", "bytes_sent", "phase.input", "phase.h2d",
                               "phase.forward", "phase.backward", "phase.communication_exposed",
                               "phase.communication_hidden", "phase.optimizer", "phase.idle"}) {
        CHECK(metric_of(report, std::string("train.") + name).value.has_value());
      }
      CHECK(metric_of(report, "train.loss").samples.size() == 8);
      CHECK(metric_of(report, "train.step_time").samples.size() == 6);
      CHECK(metric_of(report, "reference.memory.time").samples.size() == 2);
      CHECK((*metric_of(report, "train.bytes_sent").value > 0) == (workers > 1));
      const Metric& step = metric_of(report, "train.step_time");
      CHECK(has(metric_of(report, "train.phase.idle").source, "median"));
      double phases = 0;
      for (const NamedPhase& phase : kNamedPhases) {
        phases += *metric_of(report, std::string("train.phase.") + phase.name).value;
      }
      if (workers == 1) CHECK(phases == Approx(step.summary.at("mean")).epsilon(1e-9));
      Seconds ranks;
      for (const RankPhases& rank : std::get<Run>(report.subject).ranks)
        ranks += total(rank.phases);
      CHECK(phases * workers == Approx(ranks.value()).epsilon(1e-9));
      const Run& subject = std::get<Run>(report.subject);
      CHECK(subject.warmup_steps == 2);
      CHECK(subject.steps == 6);
      CHECK(subject.ranks.size() == static_cast<std::size_t>(workers));
      CHECK(!subject.implementations.empty());
      CHECK(!subject.partial);
      CHECK(subject.backend == "cpu: oneDNN " + report.environment.libraries.at("onednn"));
      if (workers == 2) CHECK(subject.ranks[0].cpus != subject.ranks[1].cpus);
    }
  }
}

TEST_CASE("epochs are whole passes, and the short batch is no sample of the step time") {
  reports::Job job = small_job();
  job.steps = 0;
  job.epochs = 2;
  job.data_dir = "synthetic:100";  // batches of 32, 32, 32, 4
  const ProgramRun run = run_trainer(job);
  REQUIRE(run.report.has_value());
  CHECK(metric_of(*run.report, "train.loss").samples.size() == 8);
  CHECK(metric_of(*run.report, "train.step_time").samples.size() == 4);
  CHECK(has(metric_of(*run.report, "train.step_time").source, "2 with a short batch"));
}

TEST_CASE("what cannot be trained is refused with its exit code and its fix") {
  reports::Job job = small_job("resnet1000");
  ProgramRun run = run_trainer(job);
  CHECK(run.child.exit_code == 2);
  CHECK(has(run.child.err, "unknown workload 'resnet1000'"));
  CHECK(has(run.child.err, "mlp, lenet"));

  run = run_trainer(small_job("mlp", usable() + 1));
  CHECK(run.child.exit_code == 2);
  CHECK(has(run.child.err, std::to_string(usable() + 1) + " workers x 1 threads need more than"));

  job = small_job();
  job.data_dir = "/no/such/folder";
  run = run_trainer(job);
  CHECK(run.child.exit_code == 1);
  CHECK(has(run.child.err, "/no/such/folder"));
  CHECK(has(run.child.err, "apt-get install dataset-fashion-mnist"));

  job = small_job();
  job.steps = 0;
  CHECK(run_trainer(job).child.exit_code == 2);
  job = small_job();
  job.momentum = 1.5;
  CHECK(run_trainer(job).child.exit_code == 2);

  sys::ChildOptions options;
  options.argv = {trainer_path(), "--job", "/no/such/job.json"};
  options.capture_err = true;
  const sys::ChildResult missing = sys::run_child(options);
  CHECK(missing.exit_code == 1);
  CHECK(has(missing.err, "/no/such/job.json"));
  options.argv = {trainer_path()};
  CHECK(sys::run_child(options).exit_code == 2);
}

TEST_CASE("one usable CPU is one worker; its own id is reported") {
  const int cpu = sys::affinity().ids().back();
  const std::vector<std::string> alone{"taskset", "-c", std::to_string(cpu)};
  CHECK(run_trainer(small_job("mlp", 2), alone).child.exit_code == 2);
  const ProgramRun run = run_trainer(small_job(), alone);
  REQUIRE(run.report.has_value());
  CHECK(std::get<Run>(run.report->subject).ranks[0].cpus == std::to_string(cpu));
}

TEST_CASE("reference loops take every usable CPU, also when the plan takes one") {
  const auto says = [](const ProgramRun& run, const std::string& cpus) {
    REQUIRE(run.report.has_value());
    return has(metric_of(*run.report, "reference.memory.time").source, "CPUs " + cpus + " at once");
  };
  const int cpu = sys::affinity().ids().back();
  CHECK(says(run_trainer(small_job()), sys::format_cpulist(sys::affinity())));
  CHECK(
      says(run_trainer(small_job(), {"taskset", "-c", std::to_string(cpu)}), std::to_string(cpu)));
}

TEST_CASE("variables of OpenMP do not change the plan, and are told of") {
  const ProgramRun run =
      run_trainer(small_job(), {}, {{"OMP_NUM_THREADS", "8"}, {"OMP_PROC_BIND", "close"}});
  REQUIRE(run.report.has_value());
  const Finding* finding = finding_of(*run.report, "train.omp_num_threads");
  REQUIRE(finding != nullptr);
  CHECK(has(finding->message, "OMP_NUM_THREADS is 8"));
}

TEST_CASE("a run that diverges says where, ends with 1 and publishes no speed") {
  reports::Job job = small_job("mlp", std::min(2, usable()));
  job.learning_rate = 1e30;
  job.steps = 200;
  const ProgramRun run = run_trainer(job);
  CHECK(run.child.exit_code == 1);
  CHECK(has(run.child.err, "step "));
  CHECK(has(run.child.err, "rank "));
  REQUIRE(run.report.has_value());
  CHECK(reports::testing::schema_errors(run.report_text, "run", true).empty());
  CHECK(run.report->quality.verdict == "invalid");
  CHECK(finding_of(*run.report, "train.diverged") != nullptr);
  for (const char* name : {"train.step_time", "train.sample_rate", "train.flop_rate"}) {
    const Metric& metric = metric_of(*run.report, name);
    CHECK(metric.status == Status::failed);
    CHECK(!metric.value.has_value());
    CHECK(has(metric.reason, "diverged"));
  }
}

TEST_CASE("an interrupt leaves a valid partial report, exit code 130 and nobody behind") {
  for (const int signal : {SIGINT, SIGTERM}) {
    reports::Job job = small_job("mlp", std::min(2, usable()));
    job.steps = 1'000'000;
    const ProgramRun run = interrupt_trainer(job, signal);
    CHECK(run.child.exit_code == 130);
    REQUIRE(run.report.has_value());
    CHECK(reports::testing::schema_errors(run.report_text, "run", true).empty());
    CHECK(std::get<Run>(run.report->subject).partial);
    CHECK(finding_of(*run.report, "train.interrupted") != nullptr);
  }
}

TEST_CASE("a report that cannot be written is an error that names it") {
  const Folder folder;
  reports::Job job = small_job();
  job.out = folder.path("no/such/place/run.json");
  reports::write_text(reports::job_to_json(job), folder.path("job.json"));
  sys::ChildOptions options;
  options.argv = {trainer_path(), "--job", folder.path("job.json")};
  options.capture_err = true;
  const sys::ChildResult result = sys::run_child(options);
  CHECK(result.exit_code == 1);
  CHECK(has(result.err, "no/such/place"));
}
