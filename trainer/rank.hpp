// One rank of a training: what it owns, its step loop, and what it does beside the steps.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/trace.hpp"
#include "trainer/train.hpp"

namespace plimsoll::trainer {

// What all ranks of a job read, and where each leaves what it saw.
struct TrainingJob {
  const Workload& workload;
  const Data& data;
  const TrainOptions& options;
  const TrainHooks& hooks;
  Progress& progress;
  const StrategyEntry& strategy;
  const OptimizerEntry& optimizer;
  FlatLayout layout;
  SamplerOptions sampler;
  LearningRate learning_rate;
  CheckpointHeader header;                   // of this run's checkpoints, but for the step
  std::optional<Checkpoint> resume;          // where to go on from
  CheckpointDirectory* directory = nullptr;  // where rank 0 writes
  std::int64_t first = 0, steps = 0;         // the next and the end, counted from the very start
  std::int64_t warmup = 0;                   // of them that are not measured
  struct Seen {
    RankRecord record;
    std::vector<Seconds> begins, ends;  // of each step
    // Over the measured steps with a whole batch: those that become train.step_time.
    std::int64_t measured = 0;
    Phases sums;
    Seconds time;
    std::string culprit;  // the first operator that made a number that is none
    std::vector<reports::TraceSlice> trace;
    bool trace_cut = false;
  };
  std::vector<Seen> seen;  // by rank: written by its rank only
  TrainRecord& record;     // written by rank 0 only, while ranks run
};

class Rank {
 public:
  Rank(TrainingJob& job, Communicator& communicator)
      : job_(job), comm_(communicator), seen_(job.seen[static_cast<std::size_t>(comm_.rank())]) {}
  void run();

 private:
  // rank.cpp: the steps
  void prepare();
  void make_executor();
  void start_weights();
  [[nodiscard]] Loader make_loader() const;
  void steps();
  [[nodiscard]] StepResult one_step(Loader& loader, Seconds begin);
  void tell();

  // rank_aside.cpp: what is done between and after them, on no step's time
  [[nodiscard]] bool between_steps(std::int64_t steps_done, bool stop);
  void evaluate(std::int64_t steps_done);
  void save(std::int64_t steps_done);
  void find_culprit(const Batch& batch, bool weights_changed);
  void time_operators();
  void sum_over_ranks(std::span<float> values);
  [[nodiscard]] WalkedBatch walked(const Batch& batch) const;

  [[nodiscard]] int rank() const { return comm_.rank(); }
  [[nodiscard]] const Plan& plan() const { return job_.options.plan; }
  [[nodiscard]] const sys::CpuSet* cpus() const {
    return job_.options.cpus.empty() ? nullptr
                                     : &job_.options.cpus[static_cast<std::size_t>(rank())];
  }

  TrainingJob& job_;
  Communicator& comm_;
  TrainingJob::Seen& seen_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<TraceRecorder> trace_;  // null: no timeline is wanted
  std::optional<Batch> last_batch_;       // still in its slot
  int training_slots_ = 1;                // of the loader; one more is for evaluation
  bool stopped_ = false;                  // before all steps were done
};

}  // namespace plimsoll::trainer
