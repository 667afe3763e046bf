// How the ranks of a job share the work of a step. A strategy runs one step on one rank; all ranks
// call it for the same steps.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/record.hpp"
#include "trainer/comm/communicator.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/execution/executor.hpp"
#include "trainer/optimizer/sgd.hpp"

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
  Seconds backward_begin, backward_end, end;
  std::vector<BucketTimes> buckets;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // Error naming step, rank and value when a loss is not finite: every rank throws it, in the same
  // step, before its weights are touched.
  [[nodiscard]] virtual StepResult step(const Batch& batch, bool ask_to_stop) = 0;
  [[nodiscard]] virtual const StepTimeline& last_timeline() const = 0;
};

struct StrategyParts {
  Executor& executor;
  Communicator& communicator;
  Sgd& optimizer;
  const FlatLayout& layout;
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

// Thrown when a loss is not a finite number.
class Diverged : public Error {
 public:
  using Error::Error;
};

}  // namespace plimsoll::trainer
