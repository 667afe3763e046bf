// The strategy: buckets go out while backward runs, phases add up, and losses that are not numbers
// or ranks that fail end everybody.

#include <algorithm>
#include <atomic>
#include <limits>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "core/system/clock.hpp"
#include "core/system/signals.hpp"
#include "tests/catch.hpp"
#include "tests/trainer/training.hpp"
#include "trainer/data/synthetic.hpp"

using namespace plimsoll;
using namespace plimsoll::trainer;
using namespace plimsoll::trainer::testing;

namespace {

// One of two ranks whose companion is an ideal wire: a sum is there `delay` after it was posted,
// one after the other, and costs no work meanwhile. So nothing here depends on a second rank's
// pace.
class SlowWire : public Communicator {
 public:
  explicit SlowWire(Seconds delay) : delay_(delay) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void send(int, Payload) override {}
  void receive(int, Payload) override {}
  void barrier() override {}
  Work all_reduce(Payload) override {
    there_.push_back((there_.empty() ? sys::now() : std::max(there_.back(), sys::now())) + delay_);
    return std::ssize(there_) - 1;
  }
  bool poll() override { return there_.empty() || sys::now() >= there_.back(); }
  void wait(Work work) override {
    while (sys::now() < there_[static_cast<std::size_t>(work)]) {  // a sleeper may wake too late
    }
  }
  void abandon() noexcept override {}
  std::int64_t bytes_sent() const override { return 0; }

 private:
  Seconds delay_;
  std::vector<Seconds> there_;
};

// Four gradients, the last operator's first, and much work between them.
Workload long_backward() {
  GraphBuilder g({16, 16, 1});
  int x = g.relu("relu1", g.convolution("conv1", g.input(), 16, 3, 1, 1, false));
  x = g.relu("relu2", g.convolution("conv2", x, 16, 3, 1, 1, false));
  x = g.relu("relu3", g.convolution("conv3", x, 16, 3, 1, 1, false));
  x = g.flatten("flatten", x);
  x = g.linear("fc", x, 5, false);
  g.softmax_cross_entropy("loss", x);
  return {.name = "long",
          .description = "",
          .graph = std::move(g).build(),
          .sample_shape = {16, 16, 1},
          .classes = 5,
          .dataset = "synthetic",
          .default_learning_rate = 0.01};
}

// What rank 0 saw, step by step.
struct Seen {
  std::vector<double> exposed, backward;  // seconds
  int posted_inside = 0, finished_inside = 0;
  [[nodiscard]] int steps() const { return static_cast<int>(exposed.size()); }
};

Seen run(bool overlap, Seconds delay) {
  const Workload workload = long_backward();
  const std::int64_t batch = 256;
  const FlatLayout layout = flat_layout(workload.graph, Bytes(1), ddp_reserved(2));
  const auto backend = make_cpu_backend(1);
  const auto executor =
      make_eager_executor(workload.graph, *backend, layout, {.batches = {batch}, .slots = 1});
  initialise(executor->weights(), workload.graph, layout, 1);
  const Dataset data = synthetic(workload.sample_shape, workload.classes, batch, 1);
  Loader loader(data, {.count = batch, .batch = batch}, {.workers = 0, .steps = 12},
                executor->slots());
  const auto optimizer = make_sgd(workload.graph, layout, {});
  const LearningRate rate(0.01, {}, 12);
  SlowWire wire(delay);
  const auto strategy = make_ddp({.executor = *executor,
                                  .communicator = wire,
                                  .optimizer = *optimizer,
                                  .learning_rate = rate,
                                  .layout = layout,
                                  .overlap = overlap});
  Seen seen;
  for (int step = 0; step < 12; ++step) {
    const StepResult result = strategy->step(loader.next(), false);
    const StepTimeline& timeline = strategy->last_timeline();
    seen.backward.push_back((timeline.backward_end - timeline.backward_begin).value());
    seen.exposed.push_back(result.phases.communication_exposed.value());
    const BucketTimes& first = timeline.buckets.front();
    if (first.posted < timeline.backward_end) ++seen.posted_inside;
    if (first.finished < timeline.backward_end) ++seen.finished_inside;
  }
  return seen;
}

std::string text_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.problem() + " @ " + error.where();
  }
  return "no error";
}

}  // namespace

TEST_CASE("with overlap the first bucket is posted during backward, without it afterwards") {
  const Seen on = run(true, Seconds(0));
  CHECK(on.posted_inside == on.steps());
  const Seen off = run(false, Seconds(0));
  CHECK(off.posted_inside == 0);
  CHECK(off.steps() == 12);
}

// The delay is a share of the backward that was just seen here, whatever this machine's speed. Four
// sums take four delays; with overlap only that of the first operator, whose gradient comes last,
// is left after backward.
TEST_CASE("a slow wire is hidden behind a backward that is long enough, and only with overlap") {
  std::string seen;
  bool hidden = false;
  for (int attempt = 0; attempt < 6 && !hidden; ++attempt) {  // neighbours may disturb one
    const Seconds delay(median(run(true, Seconds(0)).backward) / 20);
    const Seen on = run(true, delay);
    const Seen off = run(false, delay);
    CHECK(median(off.exposed) >= 4 * delay.value() * 0.99);
    hidden = 2 * on.finished_inside > on.steps() && median(on.exposed) < 0.7 * median(off.exposed);
    seen += "delay " + std::to_string(delay.value()) + ": on " +
            std::to_string(median(on.exposed)) + ", off " + std::to_string(median(off.exposed)) +
            ", finished inside " + std::to_string(on.finished_inside) + "\n";
  }
  INFO(seen);
  CHECK(hidden);
}

TEST_CASE("a loss that is not a number ends all ranks at the same step, which is named") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:64", 1);
  for (const int workers : {1, 2, 3}) {
    TrainOptions options = plain_sgd("tiny", 12, workers, 50);
    options.plan.loader_workers = 0;
    std::atomic<int> last[3] = {-1, -1, -1};
    TrainHooks hooks;
    hooks.after_step = [&](int rank, std::int64_t step, Executor& executor, const Strategy&) {
      last[rank] = static_cast<int>(step);
      if (step == 3 && rank == workers - 1) {  // what one rank alone will meet in step 4
        const auto weights = executor.weights();
        std::fill(weights.end() - 100, weights.end(), std::numeric_limits<float>::infinity());
      }
    };
    Progress progress;
    const TrainRecord record = train(workload, data, options, progress, hooks);
    REQUIRE(record.diverged.has_value());
    CHECK(record.diverged->where() == "step 4, rank " + std::to_string(workers - 1));
    CHECK(record.losses.size() == 4);
    for (int rank = 0; rank < workers; ++rank) CHECK(last[rank] == 3);
  }
}

TEST_CASE("a learning rate of 1e30 diverges and is told so") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:64", 1);
  TrainOptions options = plain_sgd("tiny", 16, 2, 200);
  options.learning_rate = 1e30;
  Progress progress;
  const TrainRecord record = train(workload, data, options, progress);
  REQUIRE(record.diverged.has_value());
  CHECK(record.losses.size() < 10);
}

TEST_CASE("a rank that fails at step 3 ends the job with its own text, every time") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:64", 1);
  for (int repeat = 0; repeat < 10; ++repeat) {
    const TrainOptions options = plain_sgd("tiny", 16, 3, 50);
    TrainHooks hooks;
    hooks.after_step = [](int rank, std::int64_t step, Executor&, const Strategy&) {
      if (rank == 1 && step == 3) throw Error("rank 1 broke", "step 3", "");
    };
    Progress progress;
    CHECK(text_of([&] { static_cast<void>(train(workload, data, options, progress, hooks)); }) ==
          "rank 1 broke @ step 3");
  }
}

TEST_CASE("an interrupt seen by one rank stops all after the same step") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:64", 1);
  const TrainOptions options = plain_sgd("tiny", 16, 3, 1000);
  TrainHooks hooks;
  std::atomic<int> steps[3] = {0, 0, 0};
  hooks.after_step = [&](int rank, std::int64_t step, Executor&, const Strategy&) {
    ++steps[rank];
    if (rank == 2 && step == 5) sys::request_interrupt(2);
  };
  Progress progress;
  const TrainRecord record = train(workload, data, options, progress, hooks);
  sys::clear_interrupt();
  CHECK(record.interrupted);
  CHECK(std::ssize(record.losses) < 20);
  CHECK(steps[0] == steps[1]);
  CHECK(steps[0] == steps[2]);
}

TEST_CASE("phases add up to the time of a step, and FLOP are those of the workload's formulas") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:256", 1);
  const TrainOptions options = plain_sgd("tiny", 64, 2, 40);
  Progress progress;
  const TrainRecord record = train(workload, data, options, progress);
  Seconds steps;
  for (const Seconds step : record.step_times) steps += step;
  for (const RankRecord& rank : record.ranks) {
    const Phases& p = rank.phases;
    const Seconds sum = p.input + p.h2d + p.forward + p.backward + p.communication_exposed +
                        p.communication_hidden + p.optimizer + p.idle;
    // Ranks end their last step at slightly different times.
    CHECK((40.0 * sum).value() <= steps.value() * 1.2);
    CHECK((40.0 * sum).value() >= steps.value() * 0.5);
  }
  Flop expected;
  for (const Op& op : workload.graph.ops) {
    expected += cost_of(workload.graph, op, Direction::forward, 32, DType::f32).flop;
    if (!op.parameters.empty()) {
      expected += cost_of(workload.graph, op, Direction::backward_weights, 32, DType::f32).flop;
    }
    if (needs_input_gradient(workload.graph, op)) {
      expected += cost_of(workload.graph, op, Direction::backward_data, 32, DType::f32).flop;
    }
  }
  CHECK(record.ranks[0].flop.value() == Approx(expected.value()));
}

TEST_CASE(
    "parameters of a bucket are contiguous, none lies twice, and what is reserved comes first") {
  const Workload workload = tiny_workload();
  for (const double cap : {1.0, 500.0, 25e6}) {
    const FlatLayout layout = flat_layout(workload.graph, Bytes(cap), 3);
    const std::vector<Bucket> expected = buckets(workload.graph, Bytes(cap));
    REQUIRE(layout.buckets.size() == expected.size());
    std::int64_t end = 0;
    for (std::size_t b = 0; b < expected.size(); ++b) {
      CHECK(layout.buckets[b].begin == end);
      end = layout.buckets[b].end;
      CHECK(layout.ready_after_op[b] == expected[b].ready_after_op);
      for (const int p : expected[b].parameters) {
        const Range& range = layout.parameters[static_cast<std::size_t>(p)];
        CHECK(range.begin >= std::max<std::int64_t>(layout.buckets[b].begin, 3));
        CHECK(range.end <= end);
        CHECK(range.begin % 16 == 0);
      }
    }
    CHECK(end == layout.total);
  }
}

TEST_CASE("the phases of a rank add up to its mean step, over the steps of train.step_time") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:100", 3);  // batches of 32, 32, 32, 4
  for (const int workers : {1, 2, 3}) {
    TrainOptions options = plain_sgd("tiny", 32, workers, 0);
    options.epochs = 3;
    options.warmup_steps = 2;
    Progress progress;
    const TrainRecord record = train(workload, data, options, progress);
    REQUIRE(record.step_times.size() == 10);
    Seconds sum;
    std::int64_t whole = 0;
    for (std::size_t i = 0; i < record.step_times.size(); ++i) {
      if (record.samples[i + 2] != 32) continue;
      sum += record.step_times[i];
      ++whole;
    }
    CHECK(whole == 7);
    for (const RankRecord& rank : record.ranks) {
      INFO(workers << " workers");
      CHECK(rank.step_time > Seconds(0));
      CHECK(total(rank.phases).value() == Approx(rank.step_time.value()).epsilon(1e-9));
      CHECK(rank.phases.idle.value() >= -1e-9);
      // Alone, its own steps are those of the whole job.
      if (workers == 1) {
        CHECK(rank.step_time.value() * static_cast<double>(whole) ==
              Approx(sum.value()).epsilon(1e-9));
      }
    }
  }
}
