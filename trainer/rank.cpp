// The step loop. Reading order: run(), steps(), one_step().

#include "trainer/rank.hpp"

#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <exception>

#include "core/error.hpp"
#include "core/system/affinity.hpp"
#include "core/system/clock.hpp"
#include "core/system/signals.hpp"
#include "trainer/data/sampler.hpp"

namespace plimsoll::trainer {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

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

}  // namespace

void Rank::run() {
  prepare();
  try {
    steps();
  } catch (const Diverged& error) {
    if (last_batch_) find_culprit(*last_batch_, error.rank < 0);
    tell();
    throw;
  } catch (...) {  // another rank was the first to tell of what happened here
    if (last_batch_ && !strategy_->own_loss_is_finite()) find_culprit(*last_batch_, false);
    throw;
  }
  tell();
  if (job_.options.operators && !stopped_) time_operators();
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
  make_executor();
  optimizer_ = job_.optimizer.make(
      job_.workload.graph, job_.layout,
      {.momentum = job_.options.momentum, .rule = job_.options.rule, .threads = plan().threads});
  start_weights();
  strategy_ = job_.strategy.make({.executor = *executor_,
                                  .communicator = comm_,
                                  .optimizer = *optimizer_,
                                  .learning_rate = job_.learning_rate,
                                  .layout = job_.layout,
                                  .clip_norm = job_.options.rule.clip_norm,
                                  .threads = plan().threads,
                                  .overlap = plan().overlap,
                                  .seed = job_.options.seed});
  seen_.begins.reserve(at(job_.steps - job_.first));
  seen_.ends.reserve(at(job_.steps - job_.first));
}

void Rank::make_executor() {
  const TrainOptions& options = job_.options;
  const bool evaluates = options.evaluate || options.evaluate_every > 0;
  training_slots_ = slots_needed(plan().loader_workers, plan().prefetch);
  ExecutorOptions wanted{.batches = Sampler(job_.sampler).local_batches(rank()),
                         .evaluation_batches = {},
                         .slots = training_slots_ + (evaluates ? 1 : 0),
                         .dtype = plan().dtype,
                         .threads = plan().threads};
  if (evaluates) {
    SamplerOptions test = job_.sampler;
    test.count = job_.data.test.count();
    wanted.evaluation_batches = Sampler(test).local_batches(rank());
  }
  executor_ =
      execution_mode(plan().execution).make(job_.workload.graph, *backend_, job_.layout, wanted);
}

void Rank::start_weights() {
  if (job_.resume) {
    std::vector<std::span<float>> states;
    for (const OptimizerState& state : optimizer_->state()) states.push_back(state.values);
    job_.resume->restore(job_.layout, executor_->weights(), states, executor_->state(), rank());
  } else {
    initialise(executor_->weights(), job_.workload.graph, job_.layout, job_.options.seed);
  }
  executor_->weights_changed();
}

// Loader threads may run on any CPU of the rank, also when its first thread is bound to one.
Loader Rank::make_loader() const {
  std::optional<sys::ScopedPin> wide;
  if (cpus() != nullptr) wide.emplace(*cpus());
  std::vector<InputSlot> slots = executor_->slots();
  slots.resize(at(training_slots_));
  return {job_.data.train, job_.sampler,
          LoaderOptions{.rank = rank(),
                        .workers = plan().loader_workers,
                        .prefetch = plan().prefetch,
                        .first_step = job_.first,
                        .steps = job_.steps - job_.first,
                        .augment = job_.options.augment},
          std::move(slots)};
}

void Rank::steps() {
  Loader loader = make_loader();
  comm_.barrier();
  Seconds before = sys::now();
  if (job_.options.trace) trace_ = std::make_unique<TraceRecorder>(rank());
  for (std::int64_t step = job_.first; step < job_.steps; ++step) {
    StepResult result = one_step(loader, before);
    if (job_.hooks.after_step) job_.hooks.after_step(rank(), step, *executor_, *strategy_);
    const std::int64_t samples = Sampler(job_.sampler).global_batch(step);
    if (rank() == 0) {
      job_.record.losses.push_back(result.loss);
      job_.record.samples.push_back(samples);
      job_.progress.loss.store(result.loss, std::memory_order_relaxed);
      job_.progress.done.store(step + 1, std::memory_order_relaxed);
    }
    const Seconds end = sys::now();
    result.phases.idle = end - before - total(result.phases);
    if (step - job_.first >= job_.warmup && samples == plan().batch) {
      ++seen_.measured;
      add(seen_.sums, result.phases);
      seen_.time += end - before;
    }
    seen_.begins.push_back(before);
    seen_.ends.push_back(end);
    if (trace_) trace_->step(step, before, end);
    stopped_ = result.stop && step + 1 < job_.steps;
    if (rank() == 0) job_.record.interrupted = stopped_;
    before = between_steps(step + 1, result.stop) ? sys::now() : end;
    if (result.stop) break;
  }
}

StepResult Rank::one_step(Loader& loader, Seconds begin) {
  Phases phases;
  Seconds waited = begin;
  for (int micro = 0;; ++micro) {
    const Batch batch = loader.next();
    last_batch_ = batch;
    const Seconds loaded = sys::now();
    phases.input += loaded - waited;
    const bool last = micro + 1 == plan().accumulate;
    StepResult result;
    if (last) {
      result = strategy_->step(batch, sys::interrupted());
      add(phases, result.phases);
      result.phases = phases;
    } else {
      add(phases, strategy_->accumulate(batch));
      // Now or never: the next batch takes this one's place.
      if (!strategy_->own_loss_is_finite()) find_culprit(batch, false);
    }
    if (trace_) trace_->micro_batch(batch, waited, loaded, strategy_->last_timeline(), last);
    if (last) return result;
    waited = sys::now();
  }
}

void Rank::tell() {
  if (seen_.measured > 0) {
    const double share = 1.0 / static_cast<double>(seen_.measured);
    seen_.record.phases = scaled(seen_.sums, share);
    seen_.record.step_time = seen_.time * share;
  }
  seen_.record.bytes_sent = comm_.bytes_sent();
  const Sampler sampler(job_.sampler);
  for (int micro = 0; micro < plan().accumulate; ++micro) {
    seen_.record.flop += executor_->flop(sampler.share(0, micro, rank()).count);
  }
  if (trace_) {
    seen_.trace_cut = trace_->cut();
    seen_.trace = std::move(*trace_).take();
  }
  if (rank() != 0) return;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  job_.record.peak_resident = Bytes(1024.0 * static_cast<double>(usage.ru_maxrss));
  job_.record.backend = backend_->name();
  job_.record.implementations = executor_->implementations();
  job_.record.memory = executor_->memory();
  for (MemoryItem& item : optimizer_->memory()) job_.record.memory.push_back(std::move(item));
}

}  // namespace plimsoll::trainer
