// What a rank does beside its steps: evaluation, checkpoints, and looks at single operators. None
// of it is on a step's time: the ranks meet before the next one begins.

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "core/system/clock.hpp"
#include "core/system/signals.hpp"
#include "trainer/data/sampler.hpp"
#include "trainer/finite.hpp"
#include "trainer/rank.hpp"

namespace plimsoll::trainer {
namespace {

constexpr int kPasses = 10;  // of the walk that times operators

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

// True when something was done that took time. All ranks come to the same decisions.
bool Rank::between_steps(std::int64_t steps_done, bool stop) {
  const TrainOptions& options = job_.options;
  const bool last = steps_done == job_.steps;
  const auto due = [&](std::int64_t every) { return every > 0 && steps_done % every == 0; };
  const bool saves =
      !options.checkpoint.directory.empty() && (due(options.checkpoint.every) || last || stop);
  const bool evaluates =
      !(stop && !last) && (due(options.evaluate_every) || (last && options.evaluate));
  const Seconds begin = sys::now();
  if (saves) save(steps_done);
  const Seconds saved = sys::now();
  if (evaluates) evaluate(steps_done);
  if (trace_ && saves) trace_->aside("checkpoint", steps_done - 1, begin, saved);
  if (trace_ && evaluates) trace_->aside("evaluation", steps_done - 1, saved, sys::now());
  if (!saves && !evaluates) return false;
  if (!last && !stop) comm_.barrier();
  return true;
}

void Rank::sum_over_ranks(std::span<float> values) {
  if (values.empty()) return;
  try {
    comm_.wait(comm_.all_reduce({.data = values.data(), .elements = std::ssize(values)}));
  } catch (...) {
    comm_.abandon();
    throw;
  }
}

// Every test sample once, in order; a rank without samples waits for the sum like any other.
// Running means are those of all ranks, averaged for as long as this takes: one network is
// evaluated, and training is not touched.
void Rank::evaluate(std::int64_t steps_done) {
  const std::span<float> state = executor_->state();
  const std::vector<float> own(state.begin(), state.end());
  if (comm_.size() > 1) {
    for (float& value : state) value /= static_cast<float>(comm_.size());
    sum_over_ranks(state);
  }
  SamplerOptions sampler = job_.sampler;
  sampler.count = job_.data.test.count();
  sampler.order = Order::sequential;
  const std::int64_t steps = Sampler(sampler).steps_per_epoch();
  Loader loader(job_.data.test, sampler,
                {.rank = rank(), .workers = 0, .prefetch = 0, .first_step = 0, .steps = steps},
                {executor_->slots()[at(training_slots_)]});
  double loss = 0;
  std::int64_t correct = 0;
  for (std::int64_t i = 0; i < steps * sampler.accumulate && !sys::interrupted(); ++i) {
    const Batch batch = loader.next();
    loss += executor_->forward(training_slots_, batch.count, {}, Mode::evaluate);
    correct += executor_->correct(training_slots_, batch.count);
  }
  std::ranges::copy(own, state.begin());

  // A place for each rank's numbers, hits in two of them: exact sums in whatever order.
  constexpr std::int64_t kNotes = 4, kLow = 1 << 20;
  std::vector<float> notes(at(kNotes * comm_.size()));
  const std::span mine = std::span(notes).subspan(at(kNotes * rank()), kNotes);
  mine[0] = static_cast<float>(correct / kLow);
  mine[1] = static_cast<float>(correct % kLow);
  mine[2] = static_cast<float>(loss);
  mine[3] = sys::interrupted() ? 1.0F : 0.0F;
  sum_over_ranks(notes);
  if (rank() != 0) return;
  std::array<double, kNotes> sums{};
  for (std::size_t i = 0; i < notes.size(); ++i) sums[i % kNotes] += static_cast<double>(notes[i]);
  if (sums[3] > 0) {
    job_.record.interrupted = true;
    return;
  }
  const auto count = static_cast<double>(sampler.count);
  job_.record.test_samples = sampler.count;
  job_.record.evaluations.push_back(
      {.steps = steps_done,
       .loss = sums[2] / count,
       .accuracy = (sums[0] * static_cast<double>(kLow) + sums[1]) /
                   (count * static_cast<double>(job_.record.positions))});
}

// Weights and the optimizer's state are the same on all ranks; operators' state is not, and is
// gathered: each rank adds it to zeros at its own place.
void Rank::save(std::int64_t steps_done) {
  const std::span<const float> own = executor_->state();
  std::vector<float> gathered(own.size() * at(comm_.size()));
  std::ranges::copy(own, gathered.begin() + std::ssize(own) * rank());
  sum_over_ranks(gathered);
  if (rank() != 0) return;
  CheckpointHeader header = job_.header;
  header.step = steps_done;
  CheckpointContent content{.layout = job_.layout,
                            .weights = executor_->weights(),
                            .optimizer_state = {},
                            .operator_state = gathered};
  bool finite = all_finite(content.operator_state);
  const Range part = parameter_range(job_.layout);
  const auto look_at = [&](std::span<const float> flat) {
    finite = finite && all_finite(flat.subspan(at(part.begin), at(part.size())));
  };
  look_at(content.weights);
  for (const OptimizerState& state : optimizer_->state()) {
    content.optimizer_state.emplace_back(state.values);
    look_at(state.values);
  }
  try {
    if (!finite) {
      throw Error("something in the weights or in the optimizer is not a finite number",
                  "step " + std::to_string(steps_done), "lower the learning rate");
    }
    job_.directory->write(header, content);
    ++job_.record.checkpoints;
  } catch (const Error& error) {  // training goes on: the checkpoints before are still there
    job_.record.findings.push_back({.id = "train.checkpoint_not_written",
                                    .severity = Severity::warning,
                                    .message = "after step " + std::to_string(steps_done) + ": " +
                                               error.problem() + ", " + error.where(),
                                    .effect = "the checkpoint before it is the newest",
                                    .fix = error.fix()});
  }
}

WalkedBatch Rank::walked(const Batch& batch) const {
  return {
      .graph = job_.workload.graph,
      .backend = *backend_,
      .layout = job_.layout,
      .executor = *executor_,
      .slot = batch.slot,
      .batch = batch.count,
      .step = {.seed = job_.options.seed, .step = batch.step, .first_sample = batch.first_sample},
      .dtype = plan().dtype,
      .threads = plan().threads};
}

// After an update the weights of the step are gone, but its gradients are not.
void Rank::find_culprit(const Batch& batch, bool weights_changed) {
  if (!seen_.culprit.empty()) return;
  try {
    const auto found = weights_changed ? first_gradient_not_finite(job_.workload.graph, job_.layout,
                                                                   executor_->gradients())
                                       : first_not_finite(walked(batch));
    if (found) seen_.culprit = *found;
    if (!found && weights_changed) seen_.culprit = "the update of finite gradients";
  } catch (const Error& error) {  // say no more than that
    seen_.culprit = "unknown: " + error.problem();
  }
}

// All ranks at once, as in a step; rank 0 tells.
void Rank::time_operators() {
  comm_.barrier();
  if (!last_batch_) return;
  Batch batch = *last_batch_;
  batch.count = Sampler(job_.sampler).share(0, 0, rank()).count;  // of a whole batch
  std::vector<OperatorTime> times = trainer::time_operators(walked(batch), kPasses);
  if (rank() == 0) job_.record.operators = std::move(times);
}

}  // namespace plimsoll::trainer
