// Training does not depend on how many workers share it: losses and weights agree, and the check
// that says so notices broken averaging.

#include <atomic>
#include <memory>
#include <set>

#include "tests/catch.hpp"
#include "tests/trainer/training.hpp"

using namespace plimsoll;
using namespace plimsoll::trainer;
using namespace plimsoll::trainer::testing;

namespace {

// A communicator that averages wrongly in a way of its own; everything else passes through.
class Broken : public Communicator {
 public:
  enum class How { never, one_rank_missing, divided_again };
  Broken(Communicator& inner, How how) : inner_(inner), how_(how) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void send(int to, Payload data) override { inner_.send(to, data); }
  void receive(int from, Payload data) override { inner_.receive(from, data); }
  void barrier() override { inner_.barrier(); }
  Work all_reduce(Payload data) override {
    auto* values = static_cast<float*>(data.data);
    if (how_ == How::one_rank_missing && rank() == 1) {
      // What is reserved for losses stays, so that nothing else is wrong.
      for (std::int64_t i = 16; i < data.elements; ++i) values[i] = 0.0F;
    }
    if (how_ == How::divided_again) {
      for (std::int64_t i = 16; i < data.elements; ++i) values[i] /= static_cast<float>(size());
    }
    if (how_ == How::never && data.elements > 16) {
      losses_only_ = {.data = data.data, .elements = 16, .dtype = data.dtype};
      return inner_.all_reduce(losses_only_);
    }
    return inner_.all_reduce(data);
  }
  bool poll() override { return inner_.poll(); }
  void wait(Work work) override { inner_.wait(work); }
  void abandon() noexcept override { inner_.abandon(); }
  std::int64_t bytes_sent() const override { return inner_.bytes_sent(); }

 private:
  Communicator& inner_;
  How how_;
  Payload losses_only_;
};

TrainHooks broken(Broken::How how) {
  return {.wrap = [how](Communicator& inner) { return std::make_unique<Broken>(inner, how); },
          .after_step = {}};
}

}  // namespace

TEST_CASE("1, 2, 3 and 4 workers agree, with both algorithms, buckets large and small") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:300", 3);
  const Outcome one = train_and_keep(workload, data, plain_sgd("tiny", 32, 1, 20));
  CHECK(one.record.losses.back() < one.record.losses.front());
  for (const char* algorithm : {"native", "ring"}) {
    for (const double bucket : {1.0, 1000.0, 25e6}) {
      for (const bool overlap : {true, false}) {
        for (const int workers : {2, 3, 4}) {
          TrainOptions options = plain_sgd("tiny", 32, workers, 20);
          options.plan.algorithm = algorithm;
          options.plan.bucket = Bytes(bucket);
          options.plan.overlap = overlap;
          INFO(workers << " workers, " << algorithm << ", bucket " << bucket);
          CHECK(disagreements(one, train_and_keep(workload, data, options)).empty());
        }
      }
    }
  }
}

TEST_CASE("the same check notices averaging that is broken") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:300", 3);
  const Outcome one = train_and_keep(workload, data, plain_sgd("tiny", 32, 1, 20));
  TrainOptions options = plain_sgd("tiny", 32, 2, 20);
  options.plan.bucket = Bytes(25e6);
  for (const auto how :
       {Broken::How::never, Broken::How::one_rank_missing, Broken::How::divided_again}) {
    const auto found = disagreements(one, train_and_keep(workload, data, options, broken(how)));
    INFO("way " << static_cast<int>(how));
    CHECK(!found.empty());
  }
}

TEST_CASE("an uneven tail weighs every sample alike, and a rank may have none") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:10", 5);
  TrainOptions options = plain_sgd("tiny", 8, 1, 0);
  options.epochs = 6;  // batches of 8 and 2: on three ranks 3, 3, 2 and 1, 1, 0
  const Outcome one = train_and_keep(workload, data, options);
  CHECK(one.record.samples == std::vector<std::int64_t>{8, 2, 8, 2, 8, 2, 8, 2, 8, 2, 8, 2});
  for (const int workers : {2, 3, 4, 11}) {
    options.plan.workers = workers;
    const Outcome many = train_and_keep(workload, data, options);
    INFO(workers << " workers");
    CHECK(disagreements(one, many).empty());
    CHECK(many.record.samples == one.record.samples);
  }
}

TEST_CASE("evaluation counts every test sample once, whatever the number of workers") {
  const Workload workload = tiny_workload();
  Data data = load_data(workload, "synthetic:60", 5);
  REQUIRE(data.test.count() == 10);
  TrainOptions options = plain_sgd("tiny", 16, 1, 6);
  options.evaluate = true;
  Progress progress;
  const TrainRecord one = train(workload, data, options, progress);
  CHECK(one.test_samples == 10);
  REQUIRE(one.evaluations.size() == 1);
  for (const int workers : {3, 4, 16}) {
    options.plan.workers = workers;
    Progress ignored;
    const TrainRecord many = train(workload, data, options, ignored);
    CHECK(many.test_samples == 10);
    REQUIRE(many.evaluations.size() == 1);
    CHECK(many.evaluations[0].accuracy == one.evaluations[0].accuracy);
    CHECK(many.evaluations[0].loss == Approx(one.evaluations[0].loss).epsilon(1e-6));
  }
}

TEST_CASE("all ranks start with the same weights, which depend on the seed alone") {
  const Workload workload = tiny_workload();
  const FlatLayout one = flat_layout(workload.graph, Bytes(25e6), 2);
  const FlatLayout other = flat_layout(workload.graph, Bytes(100), 9);
  std::vector<float> a(static_cast<std::size_t>(one.total)),
      b(static_cast<std::size_t>(other.total)), c(a.size());
  initialise(a, workload.graph, one, 1);
  initialise(b, workload.graph, other, 1);
  initialise(c, workload.graph, one, 2);
  CHECK(a != c);
  std::set<float> distinct;
  for (std::size_t p = 0; p < one.parameters.size(); ++p) {
    for (std::int64_t i = 0; i < one.parameters[p].size(); ++i) {
      const float value = a[static_cast<std::size_t>(one.parameters[p].begin + i)];
      REQUIRE(value == b[static_cast<std::size_t>(other.parameters[p].begin + i)]);
      distinct.insert(value);
    }
  }
  CHECK(distinct.size() == 428 + 1);  // no weight repeats another one; biases are zero
}

TEST_CASE("loader threads, prefetch and threads change nothing, to the bit") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:100", 3);
  TrainOptions options = plain_sgd("tiny", 16, 2, 15);
  options.plan.loader_workers = 0;
  options.plan.prefetch = 0;
  const Outcome plain = train_and_keep(workload, data, options);
  for (const int loaders : {1, 3}) {
    for (const int prefetch : {1, 4}) {
      options.plan.loader_workers = loaders;
      options.plan.prefetch = prefetch;
      const Outcome loaded = train_and_keep(workload, data, options);
      CHECK(loaded.weights == plain.weights);
      CHECK(loaded.record.losses == plain.record.losses);
    }
  }
}
