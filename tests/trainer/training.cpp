// Small training runs, and what must be equal between them.

#include "tests/trainer/training.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

namespace plimsoll::trainer::testing {

Workload tiny_workload() {
  GraphBuilder g({8, 8, 1});
  int x = g.relu("relu1", g.convolution("conv1", g.input(), 4, 3, 1, 1));
  x = g.pool("pool1", x, Pool::Mode::max, 2, 2);
  x = g.relu("relu2", g.convolution("conv2", x, 6, 3));
  x = g.pool("pool2", x, Pool::Mode::average, 2, 2);
  x = g.flatten("flatten", x);
  x = g.relu("relu3", g.linear("fc1", x, 16));
  x = g.linear("fc2", x, 5);
  g.softmax_cross_entropy("loss", x);
  return {.name = "tiny",
          .description = "every kind of operator, small",
          .graph = std::move(g).build(),
          .sample_shape = {8, 8, 1},
          .classes = 5,
          .dataset = "synthetic",
          .default_learning_rate = 0.05};
}

TrainOptions plain_sgd(const std::string& workload, std::int64_t batch, int workers,
                       std::int64_t steps) {
  TrainOptions options;
  options.plan.workload = workload;
  options.plan.batch = batch;
  options.plan.workers = workers;
  options.steps = steps;
  options.learning_rate = 0.05;
  return options;
}

Outcome train_and_keep(const Workload& workload, const Data& data, const TrainOptions& options,
                       const TrainHooks& hooks) {
  Outcome outcome;
  outcome.weights.resize(static_cast<std::size_t>(options.plan.workers));
  TrainHooks all = hooks;
  const std::int64_t last = planned_steps(options, data.train.count()) - 1;
  all.after_step = [&](int rank, std::int64_t step, Executor& executor, const Strategy& strategy) {
    if (hooks.after_step) hooks.after_step(rank, step, executor, strategy);
    if (step != last) return;
    // What is reserved in front of the weights is no weight and depends on the number of ranks.
    const std::int64_t reserved = strategy_named(options.plan.sync).reserved(options.plan.workers);
    const std::span<float> weights =
        executor.weights().subspan(static_cast<std::size_t>((reserved + 15) / 16 * 16));
    outcome.weights[static_cast<std::size_t>(rank)].assign(weights.begin(), weights.end());
  };
  Progress progress;
  outcome.record = train(workload, data, options, progress, all);
  return outcome;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double difference = 0;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference =
        std::max(difference, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    largest = std::max(largest, std::abs(static_cast<double>(a[i])));
  }
  return difference / largest;
}

double largest_relative(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double result = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    result = std::max(result, std::abs(a[i] - b[i]) / a[i]);
  return result;
}

std::vector<std::string> disagreements(const Outcome& one, const Outcome& many) {
  std::vector<std::string> texts;
  const auto note = [&](const std::string& what, double value, double most) {
    if (!(value <= most)) texts.push_back(what + " differ by " + std::to_string(value));
  };
  note("losses", largest_relative(one.record.losses, many.record.losses), 1e-4);
  note("weights", largest_difference(one.weights[0], many.weights[0]), 1e-5);
  for (std::size_t r = 1; r < many.weights.size(); ++r) {
    if (many.weights[r].size() != many.weights[0].size() ||
        std::memcmp(many.weights[0].data(), many.weights[r].data(),
                    many.weights[0].size() * sizeof(float)) != 0) {
      texts.push_back("bits of rank " + std::to_string(r) + " differ from those of rank 0");
    }
  }
  return texts;
}

Data real_or_synthetic(const Workload& workload, std::int64_t synthetic_count) {
  if (std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
    return load_data(workload, "", 1);
  }
  return load_data(workload, "synthetic:" + std::to_string(synthetic_count), 1);
}

}  // namespace plimsoll::trainer::testing
