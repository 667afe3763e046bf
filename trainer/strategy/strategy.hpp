// How the ranks of a job share the work of a step. A strategy runs one step on one rank; all ranks
// call it for the same steps.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/record.hpp"
#include "trainer/comm/communicator.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/execution/executor.hpp"
#include "trainer/optimizer/optimizer.hpp"
#include "trainer/optimizer/schedule.hpp"

namespace plimsoll::trainer {

// What happened in a step. Times are this rank's; `phases.input` is not the strategy's.
struct StepResult {
  double loss = 0;    // mean over the global batch, the same on every rank
  bool stop = false;  // some rank asked to stop: every rank sees it in the same step
  Phases phases;
};

// When a bucket went on its way and when its sum was there; seconds of sys::now().
struct BucketTimes {
  Seconds posted, finished;
};
struct StepTimeline {
  Seconds begin, backward_begin, backward_end, communication_end, end;
  std::vector<BucketTimes> buckets;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // A micro-batch that is not the last of its step: its gradients add up here, nothing is sent.
  [[nodiscard]] virtual Phases accumulate(const Batch& micro_batch) = 0;
  // The last micro-batch of a step, usually its only one: the sums of all cross ranks, are clipped
  // by their norm and divided by the global batch, and the weights follow.
  // Diverged, thrown by every rank in the same step: when a loss is not finite, before any weight
  // is touched; or when a weight is not, after the update.
  [[nodiscard]] virtual StepResult step(const Batch& micro_batch, bool ask_to_stop) = 0;
  // Of this rank's own batches in the step.
  [[nodiscard]] virtual bool own_loss_is_finite() const = 0;
  // Of the step or micro-batch before; buckets only of a step.
  [[nodiscard]] virtual const StepTimeline& last_timeline() const = 0;
};

struct StrategyParts {
  Executor& executor;
  Communicator& communicator;
  Optimizer& optimizer;
  const LearningRate& learning_rate;
  const FlatLayout& layout;
  double clip_norm = 0;  // 0: not clipped
  int threads = 1;
  bool overlap = true;
  std::uint64_t seed = 1;
};

struct StrategyEntry {
  const char* name;  // of Plan::sync
  std::unique_ptr<Strategy> (*make)(const StrategyParts& parts);
  // Floats that it wants reserved in front of the gradients.
  std::int64_t (*reserved)(int ranks);
};
[[nodiscard]] std::span<const StrategyEntry> strategies();
// Error (usage) that lists the known names when `name` is unknown.
[[nodiscard]] const StrategyEntry& strategy_named(const std::string& name);

[[nodiscard]] std::unique_ptr<Strategy> make_ddp(const StrategyParts& parts);
[[nodiscard]] std::int64_t ddp_reserved(int ranks);

// Thrown when a loss or a weight is not a finite number; `rank`: whose loss, -1 for a weight.
class Diverged : public Error {
 public:
  Diverged(std::string what, std::string where, std::string fix, int of_rank)
      : Error(std::move(what), std::move(where), std::move(fix)), rank(of_rank) {}
  int rank;
};

}  // namespace plimsoll::trainer
