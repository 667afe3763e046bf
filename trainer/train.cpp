// The step loop. Reading order: train(), Rank::run(), Rank::steps().

#include "trainer/train.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>

#include "core/error.hpp"
#include "core/system/affinity.hpp"
#include "core/system/clock.hpp"
#include "core/system/signals.hpp"
#include "trainer/comm/threads/threads.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/data/sampler.hpp"

namespace plimsoll::trainer {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// What all ranks of a job read, and where each leaves what it saw.
struct Job {
  const Workload& workload;
  const Data& data;
  const TrainOptions& options;
  const TrainHooks& hooks;
  Progress& progress;
  const StrategyEntry& strategy;
  FlatLayout layout;
  SamplerOptions sampler;
  std::int64_t steps = 0, warmup = 0;
  struct Seen {
    RankRecord record;
    std::vector<Seconds> ends;  // of each step; the start of measuring when there is no warm-up
    Seconds start;
    // Over the measured steps with a whole batch: those that become train.step_time.
    std::int64_t measured = 0;
    Phases sums;
    Seconds time;
  };
  std::vector<Seen> seen;  // by rank: written by its rank only
  TrainRecord& record;     // written by rank 0 only, while ranks run
};

void add(Phases& sum, const Phases& step) {
  for (const auto& [name, phase] : kNamedPhases) sum.*phase += step.*phase;
}

Phases scaled(const Phases& sum, double factor) {
  Phases result;
  for (const auto& [name, phase] : kNamedPhases) result.*phase = sum.*phase * factor;
  return result;
}

// Binds each thread of this rank's OpenMP team to a CPU of its own; the threads are kept by the
// runtime and used by every kernel.
void pin_team(const sys::CpuSet& cpus, int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  if (threads == 1 || cpus.count() < threads) return;
  std::vector<std::exception_ptr> errors(at(threads));
#pragma omp parallel num_threads(threads)
  {
    const auto me = static_cast<std::size_t>(omp_get_thread_num());
    try {
      sys::pin(cpus.ids()[me]);
    } catch (...) {
      errors[me] = std::current_exception();
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

class Rank {
 public:
  Rank(Job& job, Communicator& communicator)
      : job_(job), comm_(communicator), seen_(job.seen[at(communicator.rank())]) {}
  void run();

 private:
  void prepare();
  [[nodiscard]] Loader make_loader() const;
  void steps();
  void evaluate();
  void tell();
  void check_weights() const;
  [[nodiscard]] int rank() const { return comm_.rank(); }
  [[nodiscard]] const Plan& plan() const { return job_.options.plan; }
  [[nodiscard]] const sys::CpuSet* cpus() const {
    return job_.options.cpus.empty() ? nullptr : &job_.options.cpus[at(rank())];
  }

  Job& job_;
  Communicator& comm_;
  Job::Seen& seen_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Sgd> optimizer_;
  std::unique_ptr<Strategy> strategy_;
  bool stopped_ = false;  // before all steps were done
};

void Rank::run() {
  prepare();
  try {
    steps();
  } catch (const Diverged&) {
    tell();
    throw;
  }
  tell();
  check_weights();
  if (job_.options.evaluate && !stopped_) evaluate();
}

void Rank::prepare() {
  if (cpus() != nullptr) {
    seen_.record.cpus = *cpus();
    pin_team(*cpus(), plan().threads);
  } else {
    seen_.record.cpus = sys::affinity();
    omp_set_num_threads(plan().threads);
  }
  backend_ = make_cpu_backend(plan().threads);
  ExecutorOptions wanted{.batches = Sampler(job_.sampler).local_batches(rank()),
                         .evaluation_batches = {},
                         .slots = slots_needed(plan().loader_workers, plan().prefetch),
                         .dtype = plan().dtype,
                         .threads = plan().threads};
  if (job_.options.evaluate) {
    SamplerOptions test = job_.sampler;
    test.count = job_.data.test.count();
    const auto more = Sampler(test).local_batches(rank());
    wanted.evaluation_batches = more;
  }
  const Graph& graph = job_.workload.graph;
  executor_ = execution_mode(plan().execution).make(graph, *backend_, job_.layout, wanted);
  initialise(executor_->weights(), graph, job_.layout, job_.options.seed);
  executor_->weights_changed();
  optimizer_ = std::make_unique<Sgd>(job_.layout.total,
                                     SgdOptions{.learning_rate = job_.options.learning_rate,
                                                .momentum = job_.options.momentum,
                                                .threads = plan().threads});
  strategy_ = job_.strategy.make({.executor = *executor_,
                                  .communicator = comm_,
                                  .optimizer = *optimizer_,
                                  .layout = job_.layout,
                                  .overlap = plan().overlap,
                                  .seed = job_.options.seed});
  seen_.ends.reserve(at(job_.steps));
}

// Loader threads may run on any CPU of the rank, also when its first thread is bound to one.
Loader Rank::make_loader() const {
  std::optional<sys::ScopedPin> wide;
  if (cpus() != nullptr) wide.emplace(*cpus());
  return {job_.data.train, job_.sampler,
          LoaderOptions{.rank = rank(),
                        .workers = plan().loader_workers,
                        .prefetch = plan().prefetch,
                        .first_step = 0,
                        .steps = job_.steps},
          executor_->slots()};
}

void Rank::steps() {
  Loader loader = make_loader();
  comm_.barrier();
  seen_.start = sys::now();
  Seconds before = seen_.start;
  for (std::int64_t step = 0; step < job_.steps; ++step) {
    const Batch batch = loader.next();
    const Seconds loaded = sys::now();
    StepResult result = strategy_->step(batch, sys::interrupted());
    if (job_.hooks.after_step) job_.hooks.after_step(rank(), step, *executor_, *strategy_);
    result.phases.input = loaded - before;
    if (rank() == 0) {
      job_.record.losses.push_back(result.loss);
      job_.record.samples.push_back(batch.global_count);
      job_.progress.loss.store(result.loss, std::memory_order_relaxed);
      job_.progress.done.store(step + 1, std::memory_order_relaxed);
    }
    const Seconds end = sys::now();
    result.phases.idle = end - before - total(result.phases);
    if (step >= job_.warmup && batch.global_count == plan().batch) {
      ++seen_.measured;
      add(seen_.sums, result.phases);
      seen_.time += end - before;
    }
    seen_.ends.push_back(end);
    before = end;
    if (result.stop) {
      stopped_ = step + 1 < job_.steps;
      if (rank() == 0) job_.record.interrupted = stopped_;
      break;
    }
  }
}

void Rank::tell() {
  if (seen_.measured > 0) {
    const double share = 1.0 / static_cast<double>(seen_.measured);
    seen_.record.phases = scaled(seen_.sums, share);
    seen_.record.step_time = seen_.time * share;
  }
  seen_.record.bytes_sent = comm_.bytes_sent();
  seen_.record.flop = executor_->flop(Sampler(job_.sampler).local_batch(0, rank()));
  if (rank() != 0) return;
  job_.record.backend = backend_->name();
  job_.record.implementations = executor_->implementations();
  job_.record.memory = executor_->memory();
  job_.record.memory.push_back({.name = "momentum", .bytes = optimizer_->memory()});
}

// The loss tells of the weights before an update; this tells of the last one. All ranks hold the
// same bits, so all come to the same answer.
void Rank::check_weights() const {
  for (const float weight : executor_->weights().subspan(at(job_.layout.reserved.end))) {
    if (std::isfinite(weight)) continue;
    throw Diverged("a weight is " + std::to_string(weight),
                   "after step " + std::to_string(std::ssize(seen_.ends) - 1) + ", rank " +
                       std::to_string(rank()),
                   "lower the learning rate");
  }
}

// Every test sample once, in order; a rank without samples waits for the sum like any other.
void Rank::evaluate() {
  SamplerOptions sampler = job_.sampler;
  sampler.count = job_.data.test.count();
  sampler.order = Order::sequential;
  const std::int64_t batches = Sampler(sampler).steps_per_epoch();
  Loader loader(job_.data.test, sampler,
                {.rank = rank(), .workers = 0, .prefetch = 0, .first_step = 0, .steps = batches},
                executor_->slots());
  double loss = 0;
  std::int64_t correct = 0;
  for (std::int64_t i = 0; i < batches && !sys::interrupted(); ++i) {
    const Batch batch = loader.next();
    loss += executor_->forward(batch.slot, batch.count, {}, Mode::evaluate);
    correct += executor_->correct(batch.slot, batch.count);
  }
  // A place for each rank's numbers: exact sums, whatever the order of additions.
  expects(correct < (1 << 24), "a rank's hits are exact in a float");
  constexpr std::int64_t kNotes = 3;
  std::vector<float> notes(at(kNotes * comm_.size()));
  notes[at(kNotes * rank())] = static_cast<float>(correct);
  notes[at(kNotes * rank() + 1)] = static_cast<float>(loss);
  notes[at(kNotes * rank() + 2)] = sys::interrupted() ? 1.0F : 0.0F;
  try {
    comm_.wait(comm_.all_reduce({.data = notes.data(), .elements = std::ssize(notes)}));
  } catch (...) {
    comm_.abandon();
    throw;
  }
  if (rank() != 0) return;
  std::array<double, kNotes> sums{};
  for (std::size_t i = 0; i < notes.size(); ++i) sums[i % kNotes] += static_cast<double>(notes[i]);
  job_.record.interrupted = sums[2] > 0;
  if (job_.record.interrupted) return;
  const auto count = static_cast<double>(sampler.count);
  job_.record.test_samples = sampler.count;
  job_.record.accuracy = sums[0] / count;
  job_.record.test_loss = sums[1] / count;
}

// The time of a step is that between the last rank's ends of two steps: they add up to the whole.
std::vector<Seconds> step_times(const Job& job) {
  std::size_t done = job.seen.front().ends.size();
  for (const Job::Seen& seen : job.seen) done = std::min(done, seen.ends.size());
  std::vector<Seconds> result;
  Seconds before = job.seen.front().start;
  for (const Job::Seen& seen : job.seen) before = std::max(before, seen.start);
  for (std::size_t step = 0; step < done; ++step) {
    Seconds end = job.seen.front().ends[step];
    for (const Job::Seen& seen : job.seen) end = std::max(end, seen.ends[step]);
    if (step >= at(job.warmup)) result.push_back(end - before);
    before = end;
  }
  return result;
}

}  // namespace

std::int64_t planned_steps(const TrainOptions& options, std::int64_t samples) {
  if (options.epochs == 0) return options.warmup_steps + options.steps;
  return options.epochs * ((samples + options.plan.batch - 1) / options.plan.batch);
}

TrainRecord train(const Workload& workload, const Data& data, const TrainOptions& options,
                  Progress& progress, const TrainHooks& hooks) {
  const Plan& plan = options.plan;
  TrainRecord record;
  const StrategyEntry& strategy = strategy_named(plan.sync);
  Job job{.workload = workload,
          .data = data,
          .options = options,
          .hooks = hooks,
          .progress = progress,
          .strategy = strategy,
          .layout = flat_layout(workload.graph, plan.bucket, strategy.reserved(plan.workers)),
          .sampler = {.count = data.train.count(),
                      .batch = plan.batch,
                      .workers = plan.workers,
                      .seed = options.seed},
          .seen = std::vector<Job::Seen>(at(plan.workers)),
          .record = record};
  job.steps = record.planned_steps = planned_steps(options, data.train.count());
  job.warmup = record.warmup_steps = std::min(options.warmup_steps, job.steps - 1);
  record.steps_per_epoch = Sampler(job.sampler).steps_per_epoch();
  record.losses.reserve(at(job.steps));
  record.samples.reserve(at(job.steps));
  progress.total = job.steps;
  try {
    run_ranks({.ranks = plan.workers,
               .algorithm = plan.algorithm,
               .cpus = options.cpus,
               .deadline = options.deadline},
              [&](Communicator& communicator) {
                std::unique_ptr<Communicator> wrapped;
                if (hooks.wrap) wrapped = hooks.wrap(communicator);
                Rank(job, wrapped ? *wrapped : communicator).run();
              });
  } catch (const Diverged& error) {
    record.diverged = error;
  }
  record.step_times = step_times(job);
  for (Job::Seen& seen : job.seen) record.ranks.push_back(seen.record);
  return record;
}

}  // namespace plimsoll::trainer
