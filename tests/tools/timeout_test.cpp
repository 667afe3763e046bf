// A training that does not end is ended: time-outs of train and validate through the real binary.
//
// The seam is $PLIMSOLL_LIBEXEC: a trainer that hears no signal, as a rank that is stuck in a
// kernel.

#include <signal.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/tools/command.hpp"
#include "tests/tools/small_machine.hpp"
#include "tools/plimsoll/training.hpp"

using namespace plimsoll;
using namespace plimsoll::test;
using Catch::Matchers::Contains;

namespace {

// A folder of programs whose trainer writes its process id and then ignores everything.
class DeafTrainer {
 public:
  DeafTrainer() {
    const std::string path = folder_.path() + "/plimsoll-trainer";
    reports::write_text("#!/bin/sh\ntrap '' TERM INT HUP\necho $$ >> '" + folder_.path() +
                            "/pids'\nwhile :; do sleep 1; done\n",
                        path);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  // In front of the command.
  [[nodiscard]] std::vector<std::string> before() const {
    return {"env", "PLIMSOLL_LIBEXEC=" + folder_.path()};
  }
  // How many were started, none of which may live.
  [[nodiscard]] int started() const {
    const std::string pids = reports::read_text(folder_.path() + "/pids");
    int count = 0;
    for (std::size_t at = 0; at < pids.size(); at = pids.find('\n', at) + 1) {
      ++count;
      CHECK(::kill(std::stoi(pids.substr(at)), 0) == -1);
      CHECK(errno == ESRCH);
    }
    return count;
  }

 private:
  tools::ScratchDirectory folder_;
};

}  // namespace

TEST_CASE("a trainer that hears nothing is killed after the time-out of train") {
  const DeafTrainer deaf;
  const auto result =
      plimsoll::test::plimsoll({"train", "--workload", "mlp", "--steps", "3", "--timeout", "0.5"},
                               Seconds(60), deaf.before());
  CHECK(result.exit_code == 124);
  CHECK_THAT(result.err, Contains("did not end within 0.5 s") &&
                             Contains("where: plimsoll-trainer") && Contains("fix:") &&
                             Contains("--timeout"));
  CHECK(result.out.empty());
  CHECK(deaf.started() == 1);
}

TEST_CASE("a job that cannot end within its time-out is stopped with 124, its report partial") {
  const tools::ScratchDirectory scratch;
  const std::string out = scratch.path() + "/run.json";
  const auto result = plimsoll::test::plimsoll({"train", "--steps", "100000000", "--data-dir",
                                                "synthetic:512", "--timeout", "5", "--out", out},
                                               Seconds(120));
  CHECK(result.exit_code == 124);
  CHECK_THAT(result.err, Contains("did not end within 5 s"));
  // A busy machine may not have begun to train by then.
  if (std::filesystem::exists(out)) {
    CHECK(invalid({out}) == "");
    CHECK(std::get<Run>(reports::read_report(out).subject).partial);
  }
}

TEST_CASE("validate goes on after a cell that timed out, and ends with 124 and a report") {
  const tools::ScratchDirectory scratch;
  const std::string machine = scratch.path() + "/machine.json";
  reports::write_report(machine_report(), machine);
  const DeafTrainer deaf;
  const auto result =
      plimsoll::test::plimsoll({"validate", "--machine", machine, "--out", scratch.path(),
                                "--cells", "mlp-b(64|256)-w1", "--blocks", "2", "--timeout", "0.5"},
                               Seconds(120), deaf.before());
  CHECK(result.exit_code == 124);
  CHECK_THAT(result.err, Contains("did not end within 0.5 s"));
  CHECK(deaf.started() == 2);  // each cell once: its second block is not tried
  const std::string path = scratch.path() + "/validation.json";
  CHECK(invalid({path}) == "");
  const Report report = reports::read_report(path);
  CHECK(std::get<Validation>(report.subject).rows.empty());
  REQUIRE(report.findings.size() == 2);
  for (const Finding& finding : report.findings) CHECK(finding.id == "validation.timed_out");
}

TEST_CASE("a time-out that is none is wrong usage") {
  for (const char* command : {"train", "validate", "run"}) {
    for (const char* seconds : {"0", "-1", "soon"}) {
      const auto result = plimsoll::test::plimsoll({command, "--timeout", seconds});
      CHECK(result.exit_code == 2);
      CHECK_THAT(result.err, Contains("--timeout"));
    }
  }
}

TEST_CASE("the time that a job may take is generous and grows with its work") {
  reports::Job job;
  job.plan.workload = "mlp";
  job.plan.batch = 100;
  job.steps = 95;
  job.warmup_steps = 5;
  CHECK(tools::time_limit(job, Seconds(0.1)).value() == Approx(120 + 20 * 100 * 0.1));
  const Seconds few = tools::time_limit(job);
  CHECK(few > Seconds(120));
  job.steps = 995;
  CHECK((tools::time_limit(job) - Seconds(120)).value() ==
        Approx(10 * (few - Seconds(120)).value()));
  job.steps = job.warmup_steps = 0;
  job.epochs = 2;
  job.data_dir = "synthetic:900";
  CHECK(tools::time_limit(job, Seconds(1)).value() == Approx(120 + 20 * 2 * (9 + 1)));
  job.evaluate = true;
  CHECK(tools::time_limit(job, Seconds(1)).value() == Approx(120 + 20 * 3 * (9 + 1)));
  job.data_dir = "";  // the usual data set
  CHECK(tools::time_limit(job, Seconds(1)).value() == Approx(120 + 20 * 3 * 601));
}
