// A training of all ranks: what they share is made here, and what they saw is put together.

#include "trainer/train.hpp"

#include <algorithm>
#include <sstream>

#include "core/error.hpp"
#include "reports/report.hpp"
#include "trainer/comm/threads/threads.hpp"
#include "trainer/data/sampler.hpp"
#include "trainer/rank.hpp"

namespace plimsoll::trainer {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// The time of a step is that between the last rank's ends of two steps: they add up to the whole,
// but for what is done between steps.
std::vector<Seconds> step_times(const TrainingJob& job) {
  std::size_t done = job.seen.front().ends.size();
  for (const TrainingJob::Seen& seen : job.seen) done = std::min(done, seen.ends.size());
  std::vector<Seconds> result;
  for (std::size_t step = at(job.warmup); step < done; ++step) {
    Seconds begin = job.seen.front().begins[step], end = job.seen.front().ends[step];
    for (const TrainingJob::Seen& seen : job.seen) {
      begin = std::max(begin, seen.begins[step]);
      end = std::max(end, seen.ends[step]);
    }
    result.push_back(end - begin);
  }
  return result;
}

// What a run that goes on may do otherwise, as text.
std::string rule_text(const TrainOptions& options, std::int64_t steps) {
  const UpdateRule& rule = options.rule;
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << "learning rate " << options.learning_rate << ", momentum " << options.momentum
      << ", betas " << rule.beta1 << " " << rule.beta2 << ", weight decay " << rule.weight_decay
      << ", clip " << rule.clip_norm << ", schedule " << rule.schedule << " after "
      << rule.warmup_steps << " steps";
  if (rule.schedule == "cosine") out << " of " << steps;
  if (rule.schedule == "step") {
    out << ", times " << rule.step_factor << " every " << rule.step_every;
  }
  out << ", " << options.plan.accumulate << " micro-batches";
  if (options.augment) out << ", images moved and mirrored";
  return out.str();
}

CheckpointHeader header_of(const TrainingJob& job) {
  const Graph& graph = job.workload.graph;
  CheckpointHeader header{.workload = job.workload.name,
                          .graph = reports::sha256_hex(graph_text(graph)),
                          .optimizer = job.optimizer.name,
                          .dtype = to_string(job.options.plan.dtype),
                          .seed = static_cast<std::int64_t>(job.options.seed),
                          .batch = job.options.plan.batch,
                          .samples = job.data.train.count(),
                          .rule = rule_text(job.options, job.steps),
                          .workers = job.options.plan.workers,
                          .parameters = parameters_of(graph),
                          .optimizer_state = {}};
  for (const Op& op : graph.ops) {
    for (const Parameter& state : op.state) header.operator_state += elements(state.shape);
  }
  // The state's names come with an optimizer, which one parameter is enough for.
  const FlatLayout none{
      .reserved = {}, .parameters = {}, .buckets = {}, .ready_after_op = {}, .total = 16};
  for (const OptimizerState& state : job.optimizer.make(graph, none, {})->state()) {
    header.optimizer_state.emplace_back(state.name);
  }
  return header;
}

void resume(TrainingJob& job) {
  Found found = find_checkpoint(job.options.resume);
  job.record.findings = std::move(found.corrupt);
  const std::string differs =
      check_fits(found.checkpoint.header(), job.header, found.checkpoint.path());
  if (!differs.empty()) {
    job.record.findings.push_back({.id = "train.resumed_otherwise",
                                   .severity = Severity::warning,
                                   .message = found.checkpoint.path() + " " + differs,
                                   .effect = "the run goes on, but not as it would have",
                                   .fix = "repeat the flags of the run before"});
  }
  job.first = found.checkpoint.header().step;
  if (job.first >= job.steps) {
    throw usage_error("nothing is left to train: " + std::to_string(job.first) + " of " +
                          std::to_string(job.steps) + " steps are done",
                      found.checkpoint.path(), "ask for more --steps or --epochs");
  }
  job.record.first_step = job.first;
  job.record.resumed = Resumed{.path = found.checkpoint.path(), .step = job.first};
  job.resume.emplace(std::move(found.checkpoint));
}

// What went wrong, with the operator that was the first. A weight is no number on all ranks alike,
// but some of them may have heard of it before they looked.
Error with_culprit(const Diverged& error, const TrainingJob& job) {
  std::string culprit;
  for (std::size_t rank = 0; rank < job.seen.size(); ++rank) {
    if (error.rank >= 0 && at(error.rank) != rank) continue;
    if (culprit.empty()) culprit = job.seen[rank].culprit;
  }
  return {error.problem() + (culprit.empty() ? "" : "; first not finite: " + culprit),
          error.where(), error.fix()};
}

// All ranks on one clock that starts with the first thing that was seen.
void put_together(std::vector<reports::TraceSlice>& trace) {
  if (trace.empty()) return;
  const Seconds begin = std::ranges::min_element(trace, {}, &reports::TraceSlice::begin)->begin;
  for (reports::TraceSlice& slice : trace) {
    slice.begin -= begin;
    slice.end -= begin;
  }
}

void run_all(TrainingJob& job) {
  const Plan& plan = job.options.plan;
  try {
    run_ranks({.ranks = plan.workers,
               .algorithm = plan.algorithm,
               .cpus = job.options.cpus,
               .deadline = job.options.deadline},
              [&](Communicator& communicator) {
                std::unique_ptr<Communicator> wrapped;
                if (job.hooks.wrap) wrapped = job.hooks.wrap(communicator);
                Rank(job, wrapped ? *wrapped : communicator).run();
              });
  } catch (const Diverged& error) {
    job.record.diverged = with_culprit(error, job);
  }
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
  const std::int64_t steps = planned_steps(options, data.train.count());
  TrainingJob job{
      .workload = workload,
      .data = data,
      .options = options,
      .hooks = hooks,
      .progress = progress,
      .strategy = strategy,
      .optimizer = optimizer_of(plan, workload),
      .layout = flat_layout(workload.graph, plan.bucket, strategy.reserved(plan.workers)),
      .sampler = {.count = data.train.count(),
                  .batch = plan.batch,
                  .workers = plan.workers,
                  .accumulate = plan.accumulate,
                  .seed = options.seed},
      .learning_rate = LearningRate(options.learning_rate, options.rule, steps),
      .header = {},
      .resume = {},
      .steps = steps,
      .seen = std::vector<TrainingJob::Seen>(at(plan.workers)),
      .record = record};
  job.header = header_of(job);
  if (!options.resume.empty()) resume(job);
  std::optional<CheckpointDirectory> directory;
  if (!options.checkpoint.directory.empty()) {
    directory.emplace(options.checkpoint.directory, options.checkpoint.keep, job.first);
    job.directory = &*directory;
  }
  record.planned_steps = steps;
  job.warmup = record.warmup_steps = std::min(options.warmup_steps, steps - job.first - 1);
  record.steps_per_epoch = Sampler(job.sampler).steps_per_epoch();
  const Shape& output = workload.graph.tensors[at(workload.graph.ops.back().inputs[0])].shape;
  record.positions = elements(output) / output.back();
  record.losses.reserve(at(steps - job.first));
  record.samples.reserve(at(steps - job.first));
  progress.done = job.first;
  progress.total = steps;
  run_all(job);
  record.step_times = step_times(job);
  for (TrainingJob::Seen& seen : job.seen) {
    record.ranks.push_back(std::move(seen.record));
    record.trace_cut = record.trace_cut || seen.trace_cut;
    record.trace.insert(record.trace.end(), seen.trace.begin(), seen.trace.end());
  }
  put_together(record.trace);
  return record;
}

}  // namespace plimsoll::trainer
