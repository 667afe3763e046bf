// Optimizers, schedules, clipping and gradient accumulation, through the step loop.

#include <cmath>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/trainer/training.hpp"
#include "trainer/optimizer/optimizer.hpp"
#include "trainer/optimizer/schedule.hpp"

using namespace plimsoll;
using namespace plimsoll::trainer;
using namespace plimsoll::trainer::testing;

namespace {

TrainOptions with(const std::string& optimizer, int workers, std::int64_t steps,
                  double learning_rate) {
  TrainOptions options = plain_sgd("tiny", 32, workers, steps);
  options.plan.optimizer = optimizer;
  options.learning_rate = learning_rate;
  return options;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - double{b[i]}, 2);
  return std::sqrt(sum);
}

// Adam as its paper writes it, in double, on gradients that are given.
struct PaperAdam {
  double m = 0, v = 0;
  double update(double weight, double gradient, double rate, int t) {
    m = 0.9 * m + 0.1 * gradient;
    v = 0.999 * v + 0.001 * gradient * gradient;
    const double mean = m / (1 - std::pow(0.9, t)), square = v / (1 - std::pow(0.999, t));
    return weight - rate * mean / (std::sqrt(square) + 1e-8);
  }
};

}  // namespace

TEST_CASE("the learning rate follows its schedule") {
  const double full = 0.4;
  const LearningRate constant(full, {}, 100);
  CHECK(constant.at(0) == full);
  CHECK(constant.at(99) == full);

  UpdateRule rule;
  rule.schedule = "cosine";
  rule.warmup_steps = 10;
  const LearningRate cosine(full, rule, 110);
  CHECK(cosine.at(0) == Approx(0.04));
  CHECK(cosine.at(4) == Approx(0.2));
  CHECK(cosine.at(9) == Approx(full));
  CHECK(cosine.at(10) == Approx(full));
  CHECK(cosine.at(60) == Approx(full / 2));
  CHECK(cosine.at(35) == Approx(full * 0.5 * (1 + std::sqrt(0.5))));
  CHECK(cosine.at(110) == Approx(0.0).margin(1e-12));
  for (int step = 11; step < 110; ++step) CHECK(cosine.at(step) < cosine.at(step - 1));

  rule = {};
  rule.schedule = "step";
  rule.step_every = 30;
  rule.step_factor = 0.5;
  const LearningRate stairs(full, rule, 100);
  CHECK(stairs.at(29) == full);
  CHECK(stairs.at(30) == Approx(full / 2));
  CHECK(stairs.at(89) == Approx(full / 4));
  CHECK(stairs.at(90) == Approx(full / 8));

  rule.step_every = 0;
  CHECK_THROWS_AS(LearningRate(full, rule, 100), Error);
  rule.schedule = "sawtooth";
  CHECK_THROWS_AS(LearningRate(full, rule, 100), Error);
}

TEST_CASE("Adam through its class follows the paper over several steps") {
  GraphBuilder g({3});
  g.softmax_cross_entropy("loss", g.linear("fc", g.input(), 2, false));
  const Graph graph = std::move(g).build();
  const FlatLayout layout = flat_layout(graph, Bytes(1), 1);
  const auto adam = make_adam(graph, layout, {});
  std::vector<float> weights(static_cast<std::size_t>(layout.total), 0.5F), sums(weights.size());
  PaperAdam paper;
  double expected = 0.5;
  for (int step = 0; step < 20; ++step) {
    const double gradient = std::sin(step) * 3;
    std::fill(sums.begin(), sums.end(), static_cast<float>(gradient * 8));
    REQUIRE(adam->update(weights, sums,
                         {.step = step,
                          .learning_rate = 0.01,
                          .gradient_scale = 1.0 / 8,
                          .part = parameter_range(layout)}));
    expected = paper.update(expected, gradient, 0.01, step + 1);
    CHECK(double{weights.back()} == Approx(expected).epsilon(1e-5));
  }
  CHECK(weights.front() == 0.5F);  // what is reserved is no weight
}

TEST_CASE("weight decay leaves biases and norms alone") {
  const Workload workload = tiny_workload();
  const FlatLayout layout = flat_layout(workload.graph, Bytes(1000), 3);
  for (const OptimizerEntry& entry : optimizers()) {
    INFO(entry.name);
    UpdateRule rule;
    rule.weight_decay = 0.5;
    const auto optimizer = entry.make(workload.graph, layout, {.momentum = 0, .rule = rule});
    std::vector<float> weights(static_cast<std::size_t>(layout.total), 1.0F);
    const std::vector<float> zeros(weights.size());
    REQUIRE(optimizer->update(weights, zeros,
                              {.step = 0, .learning_rate = 0.1, .part = parameter_range(layout)}));
    std::size_t index = 0;
    for (const Op& op : workload.graph.ops) {
      for (const Parameter& parameter : op.parameters) {
        INFO(parameter.name);
        const Range range = layout.parameters[index++];
        for (std::int64_t i = range.begin; i < range.end; ++i) {
          const float weight = weights[static_cast<std::size_t>(i)];
          CHECK((weight < 1.0F) == (parameter.shape.size() > 1));
        }
      }
    }
  }
}

TEST_CASE("a part of the buffer can be updated alone, with the same bits") {
  const Workload workload = tiny_workload();
  const FlatLayout layout = flat_layout(workload.graph, Bytes(1000), 3);
  const Range all = parameter_range(layout);
  for (const OptimizerEntry& entry : optimizers()) {
    UpdateRule rule;
    rule.weight_decay = 0.01;
    const OptimizerOptions options{.momentum = 0.9, .rule = rule};
    const auto whole = entry.make(workload.graph, layout, options);
    const auto parts = entry.make(workload.graph, layout, options);
    std::vector<float> a(static_cast<std::size_t>(layout.total), 0.5F), b = a, sums = a;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<float>(i % 17) - 8.0F;
    for (int step = 0; step < 3; ++step) {
      Update update{.step = step, .learning_rate = 0.1, .gradient_scale = 0.25, .part = all};
      REQUIRE(whole->update(a, sums, update));
      const std::int64_t middle = all.begin + 16 * ((all.size() / 16) / 3);
      for (const Range part : {Range{all.begin, middle}, Range{middle, all.end}}) {
        update.part = part;
        REQUIRE(parts->update(b, sums, update));
      }
    }
    INFO(entry.name);
    CHECK(a == b);
  }
}

TEST_CASE("every optimizer learns, and 1, 2 and 3 workers agree") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:300", 3);
  for (const auto& [name, rate] : {std::pair{"sgd", 0.2}, {"adam", 0.002}, {"adamw", 0.002}}) {
    TrainOptions options = with(name, 1, 20, rate);
    options.rule.weight_decay = 0.01;
    options.rule.schedule = "cosine";
    options.rule.warmup_steps = 3;
    options.rule.clip_norm = 1.0;
    const Outcome one = train_and_keep(workload, data, options);
    INFO(name);
    CHECK(one.record.losses.back() < one.record.losses.front());
    for (const int workers : {2, 3}) {
      options.plan.workers = workers;
      CHECK(disagreements(one, train_and_keep(workload, data, options)).empty());
    }
  }
}

TEST_CASE("gradients are clipped by the norm of all of them, after the sum over ranks") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:300", 3);
  const auto after = [&](int workers, std::int64_t accumulate, double clip, std::int64_t steps) {
    TrainOptions options = with("sgd", workers, steps, 1.0);
    options.plan.accumulate = static_cast<int>(accumulate);
    options.rule.clip_norm = clip;
    return train_and_keep(workload, data, options).weights[0];
  };
  TrainOptions none = with("sgd", 1, 1, 1e-30);
  const std::vector<float> start = train_and_keep(workload, data, none).weights[0];
  const double free = distance(after(1, 1, 0, 1), start);  // the rate is 1: the gradient itself
  const double most = free / 3;
  CHECK(distance(after(1, 1, most, 1), start) == Approx(most).epsilon(1e-4));
  CHECK(distance(after(1, 1, free * 2, 1), start) == Approx(free).epsilon(1e-6));
  CHECK(distance(after(3, 1, most, 1), start) == Approx(most).epsilon(1e-4));
  CHECK(distance(after(2, 4, most, 1), start) == Approx(most).epsilon(1e-4));
}

TEST_CASE("gradient accumulation changes nothing but rounding, even with uneven micro-batches") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:75", 3);
  for (const std::int64_t batch : {32, 10}) {
    TrainOptions options = plain_sgd("tiny", batch, 1, 0);
    options.epochs = 3;  // the last batch of an epoch is of 11, or of 5
    const Outcome one = train_and_keep(workload, data, options);
    for (const int workers : {1, 2, 3}) {
      for (const int micro_batches : {2, 3, 7, 40}) {
        options.plan.workers = workers;
        options.plan.accumulate = micro_batches;
        const Outcome many = train_and_keep(workload, data, options);
        INFO("batch " << batch << ", " << workers << " workers, " << micro_batches);
        CHECK(disagreements(one, many).empty());
        CHECK(many.record.samples == one.record.samples);
        CHECK(many.record.planned_steps == one.record.planned_steps);
      }
    }
  }
}

TEST_CASE("only the last micro-batch communicates") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:128", 3);
  TrainOptions options = plain_sgd("tiny", 32, 2, 5);
  const auto sent = [&] {
    return train_and_keep(workload, data, options).record.ranks[1].bytes_sent;
  };
  const std::int64_t once = sent();
  CHECK(once > 0);
  options.plan.accumulate = 4;
  CHECK(sent() == once);
}

TEST_CASE("FLOP of a step are those of all its micro-batches") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:128", 3);
  TrainOptions options = plain_sgd("tiny", 30, 2, 2);
  const auto flop = [&] {
    const TrainRecord record = train_and_keep(workload, data, options).record;
    return record.ranks[0].flop + record.ranks[1].flop;
  };
  const Flop whole = flop();
  options.plan.accumulate = 4;
  CHECK(flop().value() == Approx(whole.value()));
}

TEST_CASE("evaluation in between leaves training alone, to the bit") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:120", 3);
  TrainOptions options = plain_sgd("tiny", 32, 2, 12);
  const Outcome plain = train_and_keep(workload, data, options);
  options.evaluate_every = 5;
  options.evaluate = true;
  const Outcome watched = train_and_keep(workload, data, options);
  CHECK(watched.weights == plain.weights);
  CHECK(watched.record.losses == plain.record.losses);
  REQUIRE(watched.record.evaluations.size() == 3);
  CHECK(watched.record.evaluations[0].steps == 5);
  CHECK(watched.record.evaluations[2].steps == 12);
  CHECK(watched.record.evaluations[2].loss < watched.record.evaluations[0].loss);
}
