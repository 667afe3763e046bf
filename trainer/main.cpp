// plimsoll-trainer --job FILE: trains what the job says and writes a run report.
//
// The front command writes the job (schema: reports/report.hpp, Job) and runs this program as a
// child. Exit codes are those of core/error.hpp; after an interrupt the report is there all the
// same, marked partial.

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/system/signals.hpp"
#include "core/system/topology.hpp"
#include "reports/report.hpp"
#include "reports/trace.hpp"
#include "reports/workload_file.hpp"
#include "trainer/backend/team.hpp"
#include "trainer/progress_line.hpp"
#include "trainer/run_report.hpp"
#include "trainer/train.hpp"

namespace plimsoll::trainer {
namespace {

constexpr const char* kHelp =
    "plimsoll-trainer --job FILE\n"
    "plimsoll-trainer --check FILE\n"
    "\n"
    "Trains a workload as a job file says and writes a run report to the job's `out`.\n"
    "`plimsoll train` writes such a file from its flags and runs this program; use that.\n"
    "With --check it reads and checks plan, options and data, and trains nothing.\n"
    "\n"
    "exit codes: 0 trained; 1 could not run, or diverged; 2 wrong usage; 130 interrupted, partial\n"
    "report written\n";

// Ranks bind their threads themselves. The OpenMP runtime reads its own binding when it is loaded,
// so a user's is taken away by starting the program again; sleep_when_waiting() does the rest.
void prepare_openmp(char** argv) {
  bool bound = false;
  for (const char* variable : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"}) {
    bound = bound || std::getenv(variable) != nullptr;
    unsetenv(variable);
  }
  if (bound) {
    setenv("OMP_WAIT_POLICY", "passive", 0);
    execv("/proc/self/exe", argv);
  }
  if (!sleep_when_waiting(argv)) {
    std::fputs("plimsoll-trainer: cannot start again: idle threads may spin\n", stderr);
  }
}

struct Call {
  std::string job;
  bool only_check = false;
};

Call call_of(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--job") == 0) return {.job = argv[2]};
  if (argc == 3 && std::strcmp(argv[1], "--check") == 0) {
    return {.job = argv[2], .only_check = true};
  }
  throw usage_error("expected --job FILE", "plimsoll-trainer",
                    "run it through `plimsoll train`, or see plimsoll-trainer --help");
}

// No step would have a whole batch, and only such steps are measured.
void check_batch(const Plan& plan, const Data& data) {
  if (plan.batch <= data.train.count()) return;
  throw usage_error("a batch of " + std::to_string(plan.batch) + " is more than the " +
                        std::to_string(data.train.count()) + " samples of the training set",
                    "--batch", "use " + std::to_string(data.train.count()) + " or less");
}

void check_rule(const UpdateRule& rule) {
  const auto demand = [](bool holds, double value, const char* flag, const char* fix) {
    if (!holds) throw usage_error(std::to_string(value) + " is not possible", flag, fix);
  };
  const auto share = [](double beta) { return beta >= 0 && beta < 1; };
  demand(share(rule.beta1), rule.beta1, "--beta1", "use 0 to below 1");
  demand(share(rule.beta2), rule.beta2, "--beta2", "use 0 to below 1");
  demand(std::isfinite(rule.weight_decay) && rule.weight_decay >= 0, rule.weight_decay,
         "--weight-decay", "use 0 or more");
  demand(std::isfinite(rule.clip_norm) && rule.clip_norm >= 0, rule.clip_norm, "--clip",
         "use a norm above 0, or 0 for none");
  demand(rule.warmup_steps >= 0, static_cast<double>(rule.warmup_steps), "--lr-warmup",
         "use 0 or more steps");
  demand(rule.step_factor > 0 && rule.step_factor <= 1, rule.step_factor, "--lr-step-factor",
         "use a factor above 0, at most 1");
}

void check_options(const reports::Job& job, const TrainOptions& options) {
  if (job.out.empty()) throw usage_error("the job names no report file", "out", "set `out`");
  if (options.steps < 0 || options.epochs < 0 || options.warmup_steps < 0 ||
      (options.steps > 0) == (options.epochs > 0)) {
    throw usage_error(std::to_string(options.steps) + " steps, " + std::to_string(options.epochs) +
                          " epochs, " + std::to_string(options.warmup_steps) + " warm-up steps",
                      "--steps, --epochs, --warmup", "give 1 or more of either steps or epochs");
  }
  if (!std::isfinite(options.learning_rate) || options.learning_rate <= 0 ||
      !std::isfinite(options.momentum) || options.momentum < 0 || options.momentum >= 1) {
    throw usage_error("learning rate " + std::to_string(options.learning_rate) + ", momentum " +
                          std::to_string(options.momentum),
                      "--lr, --momentum", "use a rate above 0 and a momentum from 0 to below 1");
  }
  check_rule(options.rule);
  const CheckpointOptions& checkpoint = options.checkpoint;
  if (checkpoint.every < 1 || checkpoint.keep < 1 || options.evaluate_every < 0) {
    throw usage_error("every " + std::to_string(checkpoint.every) + " steps, keep " +
                          std::to_string(checkpoint.keep) + ", evaluate every " +
                          std::to_string(options.evaluate_every),
                      "--checkpoint-every, --keep, --eval-every", "use 1 or more");
  }
}

// Each rank gets CPUs of its own, one hardware thread per core while there are cores left.
std::vector<sys::CpuSet> cpus_of_ranks(const Plan& plan, const sys::Topology& topology) {
  const std::vector<int> order = sys::cpus_by_core(topology);
  std::vector<sys::CpuSet> result(static_cast<std::size_t>(plan.workers));
  std::size_t next = 0;
  for (sys::CpuSet& cpus : result) {
    for (int i = 0; i < plan.threads; ++i) cpus.insert(order[next++]);
  }
  return result;
}

void look_at_settings(const Plan& plan, Surroundings& seen) {
  if (const char* threads = std::getenv("OMP_NUM_THREADS");
      threads != nullptr && std::string(threads) != std::to_string(plan.threads)) {
    seen.findings.push_back({.id = "train.omp_num_threads",
                             .severity = Severity::warning,
                             .message = std::string("OMP_NUM_THREADS is ") + threads +
                                        ", the plan says " + std::to_string(plan.threads) +
                                        " threads a worker",
                             .effect = "the plan was followed",
                             .fix = "use --threads, or unset OMP_NUM_THREADS"});
  }
}

// Counts only grow: what was added between the two is what the run met.
void look_at_quota(const Plan& plan, const sys::Cgroup& before, const sys::Cgroup& after,
                   Surroundings& seen) {
  const int threads = plan.workers * plan.threads;
  std::string message;
  if (after.cpu_quota.value && threads > *after.cpu_quota.value) {
    char granted[32];
    std::snprintf(granted, sizeof granted, "%.2f", *after.cpu_quota.value);
    message = std::to_string(threads) + " threads, but the CPU quota grants " + granted + " CPUs";
  }
  const sys::Throttling was = before.throttling.value_or(sys::Throttling{});
  const sys::Throttling is = after.throttling.value_or(was);
  if (is.throttled_periods > was.throttled_periods) {
    message += (message.empty() ? "" : "; ") + std::string("stopped in ") +
               std::to_string(is.throttled_periods - was.throttled_periods) + " of " +
               std::to_string(is.periods - was.periods) + " scheduler periods";
  }
  if (message.empty()) return;
  seen.findings.push_back({.id = "train.cpu_quota",
                           .severity = Severity::warning,
                           .message = message,
                           .effect = "the kernel stops threads in the middle of a step",
                           .fix = "use fewer workers or threads, or raise the quota"});
}

// Jiffies of all CPUs since boot: stolen by the hypervisor, and in all.
struct CpuTime {
  double stolen = 0, total = 0;
};
std::optional<CpuTime> cpu_time() {
  const auto text = sys::read_file(sys::fs_root(), "/proc/stat");
  if (!text || !text->starts_with("cpu ")) return std::nullopt;
  CpuTime time;
  double field[8] = {};
  if (std::sscanf(text->c_str(), "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &field[0], &field[1],
                  &field[2], &field[3], &field[4], &field[5], &field[6], &field[7]) != 8) {
    return std::nullopt;
  }
  for (const double f : field) time.total += f;
  time.stolen = field[7];
  return time;
}

double load_per_cpu(int cpus) {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load / cpus : 0;
}

TrainOptions options_of(const reports::Job& job, const Workload& workload) {
  const OptimizerEntry& optimizer = optimizer_of(job.plan, workload);
  const double usual = workload.default_optimizer == optimizer.name
                           ? workload.default_learning_rate
                           : optimizer.default_learning_rate;
  return {
      .plan = job.plan,
      .steps = job.steps,
      .epochs = job.epochs,
      .warmup_steps = job.warmup_steps,
      .seed = static_cast<std::uint64_t>(job.seed),
      .learning_rate = job.learning_rate == 0 ? usual : job.learning_rate,
      .momentum = job.momentum,
      .rule = job.update,
      .evaluate = job.evaluate || job.evaluate_every > 0,
      .evaluate_every = job.evaluate_every,
      .augment = job.augment,
      .checkpoint = {.directory = job.checkpoint, .every = job.checkpoint_every, .keep = job.keep},
      .resume = job.resume,
      .trace = !job.trace.empty(),
      .operators = job.operators,
      .cpus = {}};
}

// What is no failure, but nobody should learn of from the report alone.
void warn(const TrainRecord& record) {
  for (const Finding& finding : record.findings) {
    if (finding.severity == Severity::info) continue;
    std::fprintf(stderr, "plimsoll-trainer: warning: %s\n  effect: %s\n", finding.message.c_str(),
                 finding.effect.c_str());
  }
}

ExitCode run(const Call& call) {
  const reports::Job job = reports::job_from_json(reports::read_text(call.job), call.job);
  const sys::Topology topology = sys::read_topology();
  check(job.plan, topology.usable.count());
  const Workload workload = reports::workload_of(job.plan.workload, job.workload_text);
  TrainOptions options = options_of(job, workload);
  check_options(job, options);
  options.cpus = cpus_of_ranks(job.plan, topology);
  const Data data = load_data(workload, job.data_dir, options.seed);
  check_batch(job.plan, data);
  if (call.only_check) return ExitCode::good;

  Surroundings seen;
  seen.usable_cpus = topology.usable.count();
  seen.load_before = load_per_cpu(seen.usable_cpus);
  look_at_settings(job.plan, seen);
  if (!job.machine.empty()) seen.peak = peak_of(reports::read_report(job.machine), job.plan);
  sys::ReferenceLoops loops;  // on all usable CPUs, like the probes', whatever the plan occupies
  seen.references.push_back(loops.sample());

  Progress progress;
  TrainRecord record;
  const sys::Cgroup group = sys::read_cgroup(sys::fs_root());
  const auto before = cpu_time();
  {
    const ProgressLine line(progress, job.plan.batch);
    record = train(workload, data, options, progress);
  }
  warn(record);
  const auto after = cpu_time();
  look_at_quota(job.plan, group, sys::read_cgroup(sys::fs_root()), seen);
  if (before && after && after->total > before->total) {
    seen.steal_ratio = (after->stolen - before->stolen) / (after->total - before->total);
  }
  seen.references.push_back(loops.sample());

  reports::write_report(run_report(job, workload, options, record, seen), job.out);
  if (!job.trace.empty()) reports::write_text(reports::trace_json(record.trace), job.trace);
  if (record.diverged) throw Error(*record.diverged);
  return record.interrupted ? ExitCode::interrupted : ExitCode::good;
}

}  // namespace
}  // namespace plimsoll::trainer

int main(int argc, char** argv) {
  using namespace plimsoll;
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(trainer::kHelp, stdout);
    return 0;
  }
  try {
    const trainer::Call call = trainer::call_of(argc, argv);
    trainer::prepare_openmp(argv);
    sys::handle_interrupts();
    return static_cast<int>(trainer::run(call));
  } catch (const Error& error) {
    std::fprintf(stderr, "plimsoll-trainer: %s\n", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::bad_alloc&) {
    const Error error("memory ran out", "plimsoll-trainer",
                      "lower --batch, --prefetch, --steps or the size of the data set");
    std::fprintf(stderr, "plimsoll-trainer: %s\n", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plimsoll-trainer: unexpected: %s\n  fix:   please report this\n",
                 error.what());
    return static_cast<int>(ExitCode::could_not_run);
  }
}
