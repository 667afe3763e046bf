// Trains through an executor alone.

#include <algorithm>
#include <cmath>

#include "tests/trainer/execution/networks.hpp"
#include "trainer/data/random.hpp"

namespace plimsoll::trainer::testing {
namespace {

class Notes final : public BackwardListener {
 public:
  void gradients_ready(int op) override { ready.push_back(op); }
  void between_kernels() override {}
  std::vector<int> ready;
};

}  // namespace

void fill(const InputSlot& slot, const Graph& graph, std::int64_t batch, std::uint64_t seed) {
  const Tensor& input = graph.tensors[static_cast<std::size_t>(graph.input)];
  const Op& loss = graph.ops.back();
  const Shape& scores = graph.tensors[static_cast<std::size_t>(loss.inputs[0])].shape;
  const auto number = [&](std::uint64_t what, std::int64_t i, std::int64_t below) {
    const double unit = random_unit(seed, what, static_cast<std::uint64_t>(i));
    return static_cast<std::int32_t>(
        std::min(static_cast<double>(below - 1), std::floor(unit * static_cast<double>(below))));
  };
  std::int64_t vocabulary = 0;
  for (const Op& op : graph.ops) {
    if (const auto* table = std::get_if<Embedding>(&op.attributes)) vocabulary = table->vocabulary;
  }
  for (std::int64_t i = 0; i < batch * elements(input.shape); ++i) {
    if (input.tokens) {
      slot.tokens[i] = number(1, i, vocabulary);
    } else {
      slot.x[i] = static_cast<float>(2 * random_unit(seed, 1, static_cast<std::uint64_t>(i)) - 1);
    }
  }
  const std::int64_t classes = scores.back();
  for (std::int64_t i = 0; i < batch * elements(scores) / classes; ++i) {
    slot.labels[i] = number(2, i, classes);
  }
}

Trained train(const Graph& graph, const MakeExecutor& make, const Training& how) {
  const auto backend = make_cpu_backend(how.threads);
  const FlatLayout layout = flat_layout(graph, Bytes(1 << 20), 0);
  const auto executor = make(graph, *backend, layout,
                             {.batches = {how.batch},
                              .evaluation_batches = {how.batch + 3},
                              .slots = 2,
                              .dtype = how.dtype,
                              .threads = how.threads});
  initialise(executor->weights(), graph, layout, 7);
  executor->weights_changed();
  const std::vector<InputSlot> slots = executor->slots();
  std::vector<float> velocity(executor->weights().size(), 0.0F);
  Trained result;
  for (std::int64_t step = 0; step < how.steps; ++step) {
    Notes notes;
    double loss = 0;
    for (int part = 0; part < how.micro_batches; ++part) {
      const auto which = static_cast<std::uint64_t>(step * how.micro_batches + part);
      const int slot = static_cast<int>(which % slots.size());
      fill(slots[static_cast<std::size_t>(slot)], graph, how.batch, 100 + which % 3);
      const StepState state{.seed = 5, .step = step, .first_sample = part * how.batch};
      loss += executor->forward(slot, how.batch, state, Mode::train);
      notes.ready.clear();
      executor->backward(slot, how.batch, notes, part > 0);
    }
    result.losses.push_back(loss);
    result.ready = notes.ready;
    const auto samples = static_cast<float>(how.batch * how.micro_batches);
    sgd_momentum(executor->weights().data(), velocity.data(), executor->gradients().data(),
                 static_cast<std::int64_t>(velocity.size()),
                 {.learning_rate = 0.05F, .momentum = 0.9F, .gradient_scale = 1.0F / samples},
                 how.threads);
    executor->weights_changed();
  }
  fill(slots[1], graph, how.batch + 3, 55);
  result.evaluation = executor->forward(1, how.batch + 3, {}, Mode::evaluate);
  result.correct = executor->correct(1, how.batch + 3);
  result.weights.assign(executor->weights().begin(), executor->weights().end());
  result.state.assign(executor->state().begin(), executor->state().end());
  result.flop = executor->flop(how.batch);
  result.memory = executor->memory();
  return result;
}

double largest_relative(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(a[i] - b[i]) / std::max(std::abs(a[i]), 1e-30);
    largest = std::isfinite(difference) ? std::max(largest, difference) : INFINITY;
  }
  return largest;
}

Bytes bytes_of(const std::vector<MemoryItem>& items, const std::string& name) {
  for (const MemoryItem& item : items) {
    if (item.name == name) return item.bytes;
  }
  return Bytes(0);
}

}  // namespace plimsoll::trainer::testing
