// LeNet learns Fashion-MNIST: five epochs pass 85 % with one and with two workers. Takes a minute
// or more, so one epoch with less to show runs always and the whole with PLIMSOLL_LONG_TESTS=1.

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "core/system/affinity.hpp"
#include "tests/catch.hpp"
#include "tests/trainer/program.hpp"

using namespace plimsoll;
using namespace plimsoll::trainer::testing;

namespace {

bool installed() {
  if (std::filesystem::exists("/usr/share/datasets/fashion-mnist")) return true;
  std::puts("SKIPPED: apt-get install dataset-fashion-mnist");
  return false;
}

double accuracy(int workers, std::int64_t epochs) {
  reports::Job job = small_job("lenet", workers);
  job.plan.batch = 64;
  job.steps = 0;
  job.epochs = epochs;
  job.evaluate = true;
  job.data_dir = "";
  const ProgramRun run = run_trainer(job);
  INFO(run.child.err);
  REQUIRE(run.child.exit_code == 0);
  return *metric_of(*run.report, "train.accuracy").value;
}

}  // namespace

TEST_CASE("one epoch of Fashion-MNIST passes 75 %") {
  if (!installed()) return;
  CHECK(accuracy(std::min(2, sys::affinity().count()), 1) > 0.75);
}

TEST_CASE("five epochs of Fashion-MNIST pass 85 % with 1 and with 2 workers") {
  if (!installed() || std::getenv("PLIMSOLL_LONG_TESTS") == nullptr) return;
  CHECK(accuracy(1, 5) > 0.85);
  if (sys::affinity().count() >= 2) CHECK(accuracy(2, 5) > 0.85);
}
