// Trains a workload as a plan says and tells what happened: the step loop of every rank.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/system/cpulist.hpp"
#include "reports/trace.hpp"
#include "trainer/comm/communicator.hpp"
#include "trainer/data/dataset.hpp"
#include "trainer/execution/executor.hpp"
#include "trainer/operator_walk.hpp"
#include "trainer/strategy/strategy.hpp"

namespace plimsoll::trainer {

struct CheckpointOptions {
  std::string directory;   // empty: none are written
  std::int64_t every = 0;  // steps; and after the last one
  std::int64_t keep = 3;   // the last so many
};

struct TrainOptions {
  Plan plan;
  // Steps of the whole training, of which a resumed run does what is left:
  std::int64_t steps = 0;         // this many beside the warm-up, or
  std::int64_t epochs = 0;        // whole passes
  std::int64_t warmup_steps = 0;  // the first ones of this run, which are not measured
  std::uint64_t seed = 1;
  double learning_rate = 0, momentum = 0;
  UpdateRule rule;
  bool evaluate = false;            // at the end
  std::int64_t evaluate_every = 0;  // steps; 0: not in between
  bool augment = false;             // images of training are moved and mirrored
  CheckpointOptions checkpoint;
  std::string resume;              // a checkpoint or a directory of them; empty: from the start
  bool trace = false;              // keep a timeline
  bool operators = false;          // time each operator afterwards
  std::vector<sys::CpuSet> cpus;   // of each rank; empty: not pinned
  Seconds deadline = Seconds(60);  // of one wait for other ranks
};

// Where training is, for whoever watches from another thread.
struct Progress {
  std::atomic<std::int64_t> total{0}, done{0};  // steps; total is 0 until it is known
  std::atomic<double> loss{0};
};

// For tests: a fault put between the ranks, and looks inside. Empty ones cost nothing.
struct TrainHooks {
  std::function<std::unique_ptr<Communicator>(Communicator&)> wrap;
  std::function<void(int rank, std::int64_t step, Executor&, const Strategy&)> after_step;
};

struct RankRecord {
  sys::CpuSet cpus;
  Phases phases;                // means over the measured steps with a whole batch
  Seconds step_time;            // mean of this rank's own ones: the sum of the phases
  std::int64_t bytes_sent = 0;  // in all steps
  Flop flop;                    // counted by the kernels, of one whole batch's share
};

// One look at the whole test set.
struct Evaluation {
  std::int64_t steps = 0;  // trained before it
  double loss = 0;         // mean over samples; of sequences the mean over positions
  double accuracy = 0;     // share of rows, or of positions, whose largest output is right
};

struct TrainRecord {
  std::int64_t planned_steps = 0, warmup_steps = 0, steps_per_epoch = 0;
  std::int64_t first_step = 0;        // above 0 when resumed
  std::vector<double> losses;         // one a step from the first
  std::vector<std::int64_t> samples;  // of all ranks, likewise
  std::vector<Seconds> step_times;    // of the measured steps
  std::vector<RankRecord> ranks;
  std::string backend;
  std::map<std::string, std::string> implementations;
  std::vector<MemoryItem> memory;  // of rank 0
  std::vector<Evaluation> evaluations;
  std::int64_t test_samples = 0;
  std::int64_t positions = 1;  // of a sample: rows of output
  std::optional<Resumed> resumed;
  std::int64_t checkpoints = 0;  // written
  std::vector<OperatorTime> operators;
  std::vector<reports::TraceSlice> trace;
  bool trace_cut = false;         // it was too long to be kept whole
  std::vector<Finding> findings;  // met on the way
  bool interrupted = false;
  std::optional<Error> diverged;  // a loss or a weight was not a number: the run stopped there
};

// Ends early, all ranks after the same step, when sys::interrupted(). Anything that goes wrong on
// one rank ends them all and is thrown here; a loss that is not a number is told in the record.
[[nodiscard]] TrainRecord train(const Workload& workload, const Data& data,
                                const TrainOptions& options, Progress& progress,
                                const TrainHooks& hooks = {});

// Steps in all, warm-up included.
[[nodiscard]] std::int64_t planned_steps(const TrainOptions& options, std::int64_t samples);

}  // namespace plimsoll::trainer
