// A run that was stopped goes on to the bit; files that are not good are refused by name; a kill at
// any instant loses no more than the interval.

#include "trainer/checkpoint/checkpoint.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <thread>

#include "core/error.hpp"
#include "core/system/signals.hpp"
#include "tests/catch.hpp"
#include "tests/trainer/program.hpp"
#include "tests/trainer/training.hpp"

using namespace plimsoll;
using namespace plimsoll::trainer;
using namespace plimsoll::trainer::testing;
namespace fs = std::filesystem;

namespace {

// With running means and masks: everything that a resume could lose.
Workload stateful_workload() {
  GraphBuilder g({8, 8, 1});
  int x = g.convolution("conv1", g.input(), 4, 3, 1, 1, false);
  x = g.relu("relu1", g.batch_norm("bn1", x));
  x = g.flatten("flatten", x);
  x = g.dropout("dropout", x, 0.2);
  x = g.linear("fc", x, 5);
  g.softmax_cross_entropy("loss", x);
  return {.name = "stateful",
          .description = "",
          .graph = std::move(g).build(),
          .sample_shape = {8, 8, 1},
          .classes = 5,
          .dataset = "synthetic",
          .default_learning_rate = 0.05};
}

// Whether this build's backend has them; else the small network without.
Workload workload_here() {
  try {
    const Workload workload = stateful_workload();
    TrainOptions options = plain_sgd("stateful", 4, 1, 1);
    Progress progress;
    static_cast<void>(train(workload, load_data(workload, "synthetic:8", 1), options, progress));
    return workload;
  } catch (const Error&) {
    return tiny_workload();
  }
}

TrainOptions busy_options(const std::string& optimizer, int workers, std::int64_t steps) {
  TrainOptions options = plain_sgd("tiny", 24, workers, steps);
  options.plan.optimizer = optimizer;
  options.learning_rate = optimizer == "sgd" ? 0.05 : 0.002;
  options.momentum = 0.9;
  options.rule.weight_decay = 0.01;
  options.rule.schedule = "cosine";
  options.rule.warmup_steps = 4;
  options.rule.clip_norm = 2;
  options.plan.accumulate = 2;
  options.evaluate = true;
  return options;
}

std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().filename() != "lock") names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string problem_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void change_byte(const std::string& path, std::uintmax_t place) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(place));
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(place));
  file.put(byte);
}

// A directory with checkpoints of steps 4, 8 and 12 of a run of 12 steps.
void write_three(const Workload& workload, const Data& data, const std::string& directory,
                 TrainOptions options) {
  options.checkpoint = {.directory = directory, .every = 4, .keep = 5};
  Progress progress;
  const TrainRecord record = train(workload, data, options, progress);
  REQUIRE(record.checkpoints == 3);
}

}  // namespace

TEST_CASE("resume equals no interruption, to the bit, with every optimizer and 1 to 3 workers") {
  const Workload workload = workload_here();
  INFO("network: " << workload.name);
  const Data data = load_data(workload, "synthetic:100", 3);
  for (const char* optimizer : {"sgd", "adam", "adamw"}) {
    for (const int workers : {1, 2, 3}) {
      const Folder folder;
      TrainOptions options = busy_options(optimizer, workers, 17);
      options.evaluate_every = 6;
      const Outcome whole = train_and_keep(workload, data, options);

      options.checkpoint = {.directory = folder.path("c"), .every = 5, .keep = 3};
      TrainHooks hooks;
      hooks.after_step = [](int rank, std::int64_t step, Executor&, const Strategy&) {
        if (rank == 0 && step == 7) sys::request_interrupt(2);
      };
      const Outcome first = train_and_keep(workload, data, options, hooks);
      sys::clear_interrupt();
      REQUIRE(first.record.interrupted);
      const auto done = std::ssize(first.record.losses);
      REQUIRE(done < 17);
      options.resume = folder.path("c");
      const Outcome second = train_and_keep(workload, data, options);
      INFO(optimizer << ", " << workers << " workers, stopped after " << done);
      CHECK(second.record.first_step == done);  // an interrupt leaves a checkpoint of its own
      CHECK(second.record.findings.empty());
      std::vector<double> losses = first.record.losses;
      losses.insert(losses.end(), second.record.losses.begin(), second.record.losses.end());
      CHECK(losses == whole.record.losses);
      CHECK(second.weights == whole.weights);
      CHECK(second.record.evaluations.back().loss == whole.record.evaluations.back().loss);
      CHECK(second.record.evaluations.back().accuracy == whole.record.evaluations.back().accuracy);
      CHECK(files_in(folder.path("c")).size() == 3);
      CHECK(files_in(folder.path("c")).back() == "step-000000000017.ckpt");
    }
  }
}

TEST_CASE("a checkpoint of N workers resumes on M, and the buckets may differ") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:100", 3);
  for (const auto& [from, to] : {std::pair{1, 2}, {3, 1}, {2, 4}}) {
    const Folder folder;
    TrainOptions options = plain_sgd("tiny", 24, from, 8);
    options.momentum = 0.9;
    options.learning_rate = 0.01;
    options.checkpoint = {.directory = folder.path("c"), .every = 100, .keep = 1};
    static_cast<void>(train_and_keep(workload, data, options));
    options.checkpoint = {};
    options.steps = 20;
    const Outcome whole = train_and_keep(workload, data, options);
    options.resume = folder.path("c");
    options.plan.workers = to;
    options.plan.bucket = Bytes(500);
    const Outcome resumed = train_and_keep(workload, data, options);
    INFO(from << " to " << to);
    CHECK(resumed.record.first_step == 8);
    REQUIRE(resumed.record.findings.size() == 1);
    CHECK(resumed.record.findings[0].id == "train.resumed_otherwise");
    const std::vector<double> tail(whole.record.losses.begin() + 8, whole.record.losses.end());
    CHECK(largest_relative(tail, resumed.record.losses) < 1e-4);
    CHECK(largest_difference(whole.weights[0], resumed.weights[0]) < 1e-5);
  }
}

TEST_CASE("a cut or changed file is refused by name and the good one before it is used") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:100", 3);
  const Folder folder;
  const std::string directory = folder.path("c");
  TrainOptions options = plain_sgd("tiny", 24, 2, 12);
  write_three(workload, data, directory, options);
  const std::string newest = directory + "/step-000000000012.ckpt";
  const std::string middle = directory + "/step-000000000008.ckpt";
  const auto size = fs::file_size(newest);
  CHECK(Checkpoint(newest).header().step == 12);

  for (const std::uintmax_t place : {std::uintmax_t{3}, std::uintmax_t{9}, size / 2, size - 1}) {
    INFO("byte " << place << " of " << size);
    change_byte(newest, place);
    CHECK(has(problem_of([&] { Checkpoint{newest}; }), newest));
    const Found found = find_checkpoint(directory);
    CHECK(found.checkpoint.header().step == 8);
    REQUIRE(found.corrupt.size() == 1);
    CHECK(has(found.corrupt[0].message, newest));
    change_byte(newest, place);
    CHECK(Checkpoint(newest).header().step == 12);
  }
  for (const std::uintmax_t length : {std::uintmax_t{0}, std::uintmax_t{10}, size / 2, size - 1}) {
    INFO("cut to " << length);
    fs::resize_file(newest, length);
    CHECK(find_checkpoint(directory).checkpoint.header().step == 8);
  }
  change_byte(middle, size / 3);
  CHECK(find_checkpoint(directory).checkpoint.header().step == 4);
  CHECK(find_checkpoint(directory).corrupt.size() == 2);

  options.steps = 20;
  options.resume = directory;
  options.checkpoint = {.directory = directory, .every = 100, .keep = 2};
  const Outcome resumed = train_and_keep(workload, data, options);
  CHECK(resumed.record.first_step == 4);
  CHECK(resumed.record.findings.size() == 2);
  CHECK(files_in(directory) ==
        std::vector<std::string>{"step-000000000004.ckpt", "step-000000000008.ckpt.corrupt",
                                 "step-000000000012.ckpt.corrupt", "step-000000000020.ckpt"});

  change_byte(directory + "/step-000000000004.ckpt", 100);
  change_byte(directory + "/step-000000000020.ckpt", 100);
  CHECK(has(problem_of([&] { static_cast<void>(find_checkpoint(directory)); }),
            "no checkpoint is good"));
  CHECK(has(problem_of([&] { static_cast<void>(find_checkpoint(folder.path("none"))); }), "none"));
  fs::create_directory(folder.path("empty"));
  CHECK(has(problem_of([&] { static_cast<void>(find_checkpoint(folder.path("empty"))); }),
            "there is no checkpoint"));
}

TEST_CASE("who may not go on is told both sides") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:100", 3);
  const Folder folder;
  TrainOptions options = plain_sgd("tiny", 24, 1, 12);
  write_three(workload, data, folder.path("c"), options);
  options.resume = folder.path("c");
  options.steps = 20;
  const auto refusal = [&](const Workload& other, const TrainOptions& others) {
    return problem_of([&] {
      Progress progress;
      static_cast<void>(train(other, data, others, progress));
    });
  };
  CHECK(refusal(workload, options) == "no error");
  const std::string graph = refusal(stateful_workload(), options);
  CHECK((has(graph, "tiny (") && has(graph, "stateful (")));
  TrainOptions other = options;
  other.plan.optimizer = "adamw";
  CHECK(has(refusal(workload, other), "is of optimizer sgd, this run is of adamw"));
  other = options;
  other.seed = 2;
  CHECK(has(refusal(workload, other), "is of seed 1, this run is of 2"));
  other = options;
  other.plan.batch = 25;
  CHECK(has(refusal(workload, other), "is of global batch 24, this run is of 25"));
  other = options;
  other.steps = 12;
  CHECK(has(refusal(workload, other), "nothing is left to train: 12 of 12"));
  other = options;
  other.resume.clear();
  other.checkpoint = {.directory = folder.path("c"), .every = 5, .keep = 3};
  CHECK(has(refusal(workload, other), "a checkpoint of step 4 already"));
  CHECK(files_in(folder.path("c")).size() == 3);
}

TEST_CASE("one run at a time writes to a directory") {
  const Folder folder;
  const CheckpointDirectory one(folder.path("c"), 3, 0);
  CHECK(has(problem_of([&] { CheckpointDirectory(folder.path("c"), 3, 0); }), "another run"));
}

TEST_CASE("what cannot be written is told, and training goes on") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:100", 3);
  const Folder folder;
  TrainOptions options = plain_sgd("tiny", 24, 2, 12);
  options.checkpoint = {.directory = folder.path("c"), .every = 4, .keep = 5};
  TrainHooks hooks;
  hooks.after_step = [&](int rank, std::int64_t step, Executor&, const Strategy&) {
    // A directory stands where the file of step 8 is to be written.
    if (rank == 0 && step == 5) fs::create_directory(folder.path("c/step-000000000008.ckpt.tmp"));
  };
  Progress progress;
  const TrainRecord record = train(workload, data, options, progress, hooks);
  CHECK(record.losses.size() == 12);
  REQUIRE(!record.findings.empty());
  CHECK(record.findings[0].id == "train.checkpoint_not_written");
  CHECK(find_checkpoint(folder.path("c")).checkpoint.header().step == 12);
}

TEST_CASE("weights that are no numbers never become a checkpoint") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:100", 3);
  const Folder folder;
  TrainOptions options = plain_sgd("tiny", 24, 2, 12);
  options.checkpoint = {.directory = folder.path("c"), .every = 1, .keep = 1};
  TrainHooks hooks;
  hooks.after_step = [](int, std::int64_t step, Executor& executor, const Strategy&) {
    if (step == 5) executor.weights().back() = std::numeric_limits<float>::quiet_NaN();
    if (step == 5) executor.weights()[40] = std::numeric_limits<float>::quiet_NaN();
  };
  Progress progress;
  const TrainRecord record = train(workload, data, options, progress, hooks);
  CHECK(record.diverged.has_value());
  CHECK(find_checkpoint(folder.path("c")).checkpoint.header().step == 5);
}

// Each child trains for ever, a checkpoint every 3 steps, and says in shared memory how far it is.
TEST_CASE(
    "SIGKILL at any instant loses no more than the interval, and the rest goes on to the bit") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:100", 3);
  constexpr std::int64_t kEvery = 3;
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* done = new (memory) std::atomic<std::int64_t>(0);
  const Folder folder;
  TrainOptions options = plain_sgd("tiny", 24, 2, 100'000);
  options.momentum = 0.9;
  options.learning_rate = 0.01;
  options.plan.loader_workers = 0;
  options.checkpoint = {.directory = folder.path("c"), .every = kEvery, .keep = 2};
  std::int64_t newest = 0;
  for (int round = 0; round < 12; ++round) {
    const std::int64_t before = newest;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      if (before > 0) options.resume = folder.path("c");
      TrainHooks hooks;
      // Told before the checkpoint of that step is written: the next step needs it.
      hooks.after_step = [&](int rank, std::int64_t step, Executor&, const Strategy&) {
        if (rank == 0) done->store(step);
      };
      Progress progress;
      try {
        static_cast<void>(train(workload, data, options, progress, hooks));
      } catch (const std::exception&) {
      }
      _exit(1);
    }
    // At least one more checkpoint, then a while that differs from round to round.
    for (int i = 0; i < 20'000 && done->load() < before + 2 * kEvery; ++i) usleep(1000);
    usleep(static_cast<useconds_t>((round * 7919) % 5000));
    CHECK(kill(child, SIGKILL) == 0);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    const std::int64_t reached = done->load();  // this step was done, all before it are
    newest = find_checkpoint(folder.path("c")).checkpoint.header().step;
    INFO("round " << round << ", reached step " << reached << ", checkpoint of " << newest);
    CHECK(newest > before);
    CHECK(newest >= reached - kEvery);
    CHECK(find_checkpoint(folder.path("c")).corrupt.empty());
  }
  munmap(memory, 4096);

  // What is left after all the kills is what one run without any arrives at.
  options.steps = newest + 5;
  options.resume = folder.path("c");
  const Outcome resumed = train_and_keep(workload, data, options);
  options.resume.clear();
  options.checkpoint = {};
  const Outcome whole = train_and_keep(workload, data, options);
  CHECK(resumed.record.first_step == newest);
  CHECK(resumed.weights == whole.weights);
  for (const std::string& name : files_in(folder.path("c"))) CHECK_FALSE(has(name, ".tmp"));
}
