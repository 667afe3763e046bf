// Distributed data parallel: every rank holds all weights and takes its share of the batch.
//
//   (forward -> backward, for each micro-batch but the last: gradients add up)
//   forward -> backward, and while it runs: each bucket of gradients is posted as soon as its last
//   parameter is done, and moved forward between the kernels that remain -> wait for the rest ->
//   update
//
// Sums of gradients cross ranks, with each rank's loss in front of the first bucket: so every rank
// sees the losses of all, and all stop at the same step when one is not a number. The one division
// by the global batch comes at the update. So does clipping: every rank has the same sums, and so the
// same norm.
//
// Time in posting and polling during backward is communication_hidden, time in waiting after it
// communication_exposed. On one core per rank "hidden" is still that core's work.

#include <cmath>

#include "core/error.hpp"
#include "core/system/clock.hpp"
#include "trainer/finite.hpp"
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

    [[nodiscard]] Phases accumulate(const Batch& batch) override;
    [[nodiscard]] StepResult step(const Batch& batch, bool ask_to_stop) override;
    [[nodiscard]] bool own_loss_is_finite() const override { return is_finite(own_loss_); }
    [[nodiscard]] const StepTimeline& last_timeline() const override { return timeline_; }

   private:
    void gradients_ready(int op) override;
    void between_kernels() override;
    void post(std::size_t bucket);
    void wait_for_all();
    void forward(const Batch& batch);
    void write_notes(bool ask_to_stop);
    void check_losses(const Batch& batch) const;
    void update(const Batch& batch);
    [[nodiscard]] int ranks() const { return parts_.communicator.size(); }

    StrategyParts parts_;
    std::vector<Work> work_;    // by bucket
    std::size_t posted_ = 0;    // buckets of this step that are on their way
    std::size_t finished_ = 0;  // of those: sums that are there
    bool begun_ = false;        // some micro-batch of this step has left its gradients
    double own_loss_ = 0;       // summed over this rank's samples of the step
    Seconds hidden_;
    StepTimeline timeline_;
  };

  // --- One step
  // ------------------------------------------------------------------------------------
  class Silent final : public BackwardListener {
    void gradients_ready(int) override {}
    void between_kernels() override {}
  };

  void Ddp::forward(const Batch& batch) {
    timeline_.begin = sys::now();
    if (batch.micro == 0) own_loss_ = 0;
    own_loss_ += parts_.executor.forward(
        batch.slot, batch.count,
        {.seed = parts_.seed, .step = batch.step, .first_sample = batch.first_sample}, Mode::train);
    timeline_.backward_begin = sys::now();
  }

  Phases Ddp::accumulate(const Batch& batch) {
    forward(batch);
    Silent silent;
    parts_.executor.backward(batch.slot, batch.count, silent, begun_);
    begun_ = true;
    timeline_.backward_end = timeline_.communication_end = timeline_.end = sys::now();
    Phases phases;
    phases.forward = timeline_.backward_begin - timeline_.begin;
    phases.backward = timeline_.backward_end - timeline_.backward_begin;
    return phases;
  }

  StepResult Ddp::step(const Batch& batch, bool ask_to_stop) {
    Executor& executor = parts_.executor;
    posted_ = finished_ = 0;
    hidden_ = Seconds(0);
    forward(batch);
    write_notes(ask_to_stop);
    executor.backward(batch.slot, batch.count, *this, begun_);
    begun_ = false;
    timeline_.backward_end = sys::now();
    if (ranks() > 1) wait_for_all();
    timeline_.communication_end = sys::now();
    check_losses(batch);
    update(batch);
    timeline_.end = sys::now();

    const StepTimeline& t = timeline_;
    const std::span<const float> notes = executor.gradients();
    double total = 0;
    for (int r = 0; r < ranks(); ++r)
      total += static_cast<double>(notes[static_cast<std::size_t>(r)]);
    return {.loss = total / static_cast<double>(batch.global_count),
            .stop = notes[static_cast<std::size_t>(ranks())] > 0,
            .phases = {.input = {},
                       .h2d = {},
                       .forward = t.backward_begin - t.begin,
                       .backward = t.backward_end - t.backward_begin - hidden_,
                       .communication_exposed = t.communication_end - t.backward_end,
                       .communication_hidden = hidden_,
                       .optimizer = t.end - t.communication_end,
                       .idle = {}}};
  }

  void Ddp::update(const Batch& batch) {
    Executor& executor = parts_.executor;
    const Range part = parameter_range(parts_.layout);
    const std::span<const float> sums = executor.gradients();
    double scale = 1.0 / static_cast<double>(batch.global_count);
    if (parts_.clip_norm > 0) {
      const double norm =
          scale * std::sqrt(sum_of_squares(sums.data() + part.begin, part.size(), parts_.threads));
      scale *= clip_factor(norm, parts_.clip_norm);
    }
    const bool finite =
        parts_.optimizer.update(executor.weights(), sums,
                                {.step = batch.step,
                                 .learning_rate = parts_.learning_rate.at(batch.step),
                                 .gradient_scale = scale,
                                 .part = part});
    if (!finite) {
      throw Diverged("a weight is not a finite number after its update",
                     "step " + std::to_string(batch.step) + ", rank " +
                         std::to_string(parts_.communicator.rank()) + " as all others",
                     "lower the learning rate, or clip the gradients", -1);
    }
    executor.weights_changed();
  }

  // What is summed in front of the first bucket: a place for each rank's loss, then how many ranks
  // ask to stop.
  void Ddp::write_notes(bool ask_to_stop) {
    const std::span<float> notes = parts_.executor.gradients();
    for (std::size_t r = 0; r < static_cast<std::size_t>(ranks()); ++r) notes[r] = 0.0F;
    notes[static_cast<std::size_t>(parts_.communicator.rank())] = static_cast<float>(own_loss_);
    notes[static_cast<std::size_t>(ranks())] = ask_to_stop ? 1.0F : 0.0F;
  }

  void Ddp::check_losses(const Batch& batch) const {
    const std::span<const float> notes = parts_.executor.gradients();
    for (int r = 0; r < ranks(); ++r) {
      const float loss = notes[static_cast<std::size_t>(r)];
      if (is_finite(loss)) continue;
      throw Diverged(std::string("the loss is ") + word_for(loss),
                     "step " + std::to_string(batch.step) + ", rank " + std::to_string(r),
                     "lower the learning rate, or look at the samples of this step", r);
    }
  }

  // --- Communication
  // -------------------------------------------------------------------------------
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
