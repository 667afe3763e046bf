// Distributed data parallel: every rank holds all weights and takes its share of the batch.
//
//   forward -> backward, and while it runs: each bucket of gradients is posted as soon as its last
//   parameter is done, and moved forward between the kernels that remain -> wait for the rest ->
//   update
//
// Sums of gradients cross ranks, with each rank's loss in front of the first bucket: so every rank
// sees the losses of all, and all stop at the same step when one is not a number. The one division
// by the global batch is the optimizer's.
//
// Time in posting and polling during backward is communication_hidden, time in waiting after it
// communication_exposed. On one core per rank "hidden" is still that core's work.

#include <cmath>

#include "core/error.hpp"
#include "core/system/clock.hpp"
#include "trainer/strategy/strategy.hpp"

namespace plimsoll::trainer {
namespace {

class Ddp final : public Strategy, private BackwardListener {
 public:
  explicit Ddp(const StrategyParts& parts)
      : parts_(parts), work_(parts.layout.buckets.size(), Work{-1}) {
    timeline_.buckets.resize(work_.size());
  }
  ~Ddp() override {
    if (ranks() > 1 && finished_ < posted_) parts_.communicator.abandon();
  }
  Ddp(const Ddp&) = delete;
  Ddp& operator=(const Ddp&) = delete;

  [[nodiscard]] StepResult step(const Batch& batch, bool ask_to_stop) override;
  [[nodiscard]] const StepTimeline& last_timeline() const override { return timeline_; }

 private:
  void gradients_ready(int op) override;
  void between_kernels() override;
  void post(std::size_t bucket);
  void wait_for_all();
  void write_notes(double loss_sum, bool ask_to_stop);
  void check_losses(const Batch& batch) const;
  [[nodiscard]] int ranks() const { return parts_.communicator.size(); }

  StrategyParts parts_;
  std::vector<Work> work_;    // by bucket
  std::size_t posted_ = 0;    // buckets of this step that are on their way
  std::size_t finished_ = 0;  // of those: sums that are there
  Seconds hidden_;
  StepTimeline timeline_;
};

// --- One step ------------------------------------------------------------------------------------
StepResult Ddp::step(const Batch& batch, bool ask_to_stop) {
  Executor& executor = parts_.executor;
  posted_ = finished_ = 0;
  hidden_ = Seconds(0);

  const Seconds begin = sys::now();
  const double loss_sum = executor.forward(
      batch.slot, batch.count,
      {.seed = parts_.seed, .step = batch.step, .first_sample = batch.first_sample}, Mode::train);
  write_notes(loss_sum, ask_to_stop);
  const Seconds forward_end = sys::now();
  executor.backward(batch.slot, batch.count, *this, false);
  const Seconds backward_end = sys::now();
  if (ranks() > 1) wait_for_all();
  const Seconds communication_end = sys::now();
  check_losses(batch);
  const auto start = static_cast<std::size_t>(parts_.layout.reserved.end);
  parts_.optimizer.update(executor.weights().subspan(start), executor.gradients().subspan(start),
                          batch.global_count);
  executor.weights_changed();
  const Seconds end = sys::now();

  timeline_.backward_begin = forward_end;
  timeline_.backward_end = backward_end;
  timeline_.end = end;
  const std::span<const float> notes = executor.gradients();
  double total = 0;
  for (int r = 0; r < ranks(); ++r)
    total += static_cast<double>(notes[static_cast<std::size_t>(r)]);
  return {.loss = total / static_cast<double>(batch.global_count),
          .stop = notes[static_cast<std::size_t>(ranks())] > 0,
          .phases = {.input = {},
                     .h2d = {},
                     .forward = forward_end - begin,
                     .backward = backward_end - forward_end - hidden_,
                     .communication_exposed = communication_end - backward_end,
                     .communication_hidden = hidden_,
                     .optimizer = end - communication_end,
                     .idle = {}}};
}

// What is summed in front of the first bucket: a place for each rank's loss, then how many ranks
// ask to stop.
void Ddp::write_notes(double loss_sum, bool ask_to_stop) {
  const std::span<float> notes = parts_.executor.gradients();
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks()); ++r) notes[r] = 0.0F;
  notes[static_cast<std::size_t>(parts_.communicator.rank())] = static_cast<float>(loss_sum);
  notes[static_cast<std::size_t>(ranks())] = ask_to_stop ? 1.0F : 0.0F;
}

void Ddp::check_losses(const Batch& batch) const {
  const std::span<const float> notes = parts_.executor.gradients();
  for (int r = 0; r < ranks(); ++r) {
    const float loss = notes[static_cast<std::size_t>(r)];
    if (std::isfinite(loss)) continue;
    throw Diverged("the loss is " + std::to_string(loss),
                   "step " + std::to_string(batch.step) + ", rank " + std::to_string(r),
                   "lower the learning rate, or look at the samples of this step");
  }
}

// --- Communication -------------------------------------------------------------------------------
void Ddp::gradients_ready(int op) {
  if (ranks() == 1 || !parts_.overlap) return;
  const Seconds begin = sys::now();
  while (posted_ < work_.size() && parts_.layout.ready_after_op[posted_] == op) post(posted_);
  hidden_ += sys::now() - begin;
  between_kernels();
}

void Ddp::between_kernels() {
  if (finished_ == posted_) return;
  const Seconds begin = sys::now();
  const bool all = parts_.communicator.poll();
  const Seconds end = sys::now();
  for (; all && finished_ < posted_; ++finished_) timeline_.buckets[finished_].finished = end;
  hidden_ += end - begin;
}

void Ddp::post(std::size_t bucket) {
  const Range& range = parts_.layout.buckets[bucket];
  timeline_.buckets[bucket].posted = sys::now();
  work_[bucket] = parts_.communicator.all_reduce(
      {.data = parts_.executor.gradients().data() + range.begin, .elements = range.size()});
  ++posted_;
}

void Ddp::wait_for_all() {
  while (posted_ < work_.size()) post(posted_);
  for (; finished_ < work_.size(); ++finished_) {
    parts_.communicator.wait(work_[finished_]);
    timeline_.buckets[finished_].finished = sys::now();
  }
}

}  // namespace

std::unique_ptr<Strategy> make_ddp(const StrategyParts& parts) {
  return std::make_unique<Ddp>(parts);
}

std::int64_t ddp_reserved(int ranks) { return ranks + 1; }

}  // namespace plimsoll::trainer
