// Invents the sample reports; no randomness, so that a page of them is always the same.

#include "tests/reports/page/sample_reports.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace plimsoll::reports::testing {
namespace {

constexpr double kKiB = 1024, kMiB = 1024 * kKiB;

// Between -1 and 1, different for every index, the same in every run.
double wobble(int index) { return std::sin(12.9898 * index + 0.5) * std::cos(4.1 * index); }

std::string sample_id(int number) {
  std::string tail = std::to_string(number);
  return "5a7e0000-0000-4000-8000-" + std::string(12 - tail.size(), '0') + tail;
}

Report envelope(int number, std::vector<std::string> argv) {
  Report report;
  report.id = sample_id(number);
  report.created = "2026-01-15T10:" + std::string(number < 10 ? "0" : "") +
                   std::to_string(number % 60) + ":00.000000Z";
  report.tool.version = "0.1.0";
  report.tool.git_commit = "0123456789abcdef0123456789abcdef01234567";
  report.tool.compiler = "GNU 12.2.0";
  report.tool.flags = "-O3";
  report.tool.build_type = "Release";
  report.command.argv = std::move(argv);
  report.command.seed = 1;
  Environment& env = report.environment;
  env.hostname = "sample-node";
  env.vendor = "Sample Vendor";
  env.virtualised = true;
  env.hypervisor = "kvm";
  env.cpu_model = "Sample CPU 8000 @ 2.7 GHz";
  env.architecture = "x86_64";
  env.present_cpus = env.online_cpus = env.usable_cpus = "0-1";
  env.sockets = 1;
  env.cores = env.hardware_threads = 2;
  env.governor.reason = "no cpufreq in this virtual machine";
  env.frequency_hz.value = 2.7e9;
  env.cpu_quota.reason = "no limit";
  env.isa = {"avx2", "avx512f", "avx512_bf16", "amx_bf16"};
  env.caches = {{1, "data", 48 * 1024, 2},
                {1, "instruction", 32 * 1024, 2},
                {2, "unified", 2 * 1024 * 1024, 2},
                {3, "unified", 32 * 1024 * 1024, 1}};
  env.numa = {{0, 8LL * 1024 * 1024 * 1024, "0-1"}};
  env.memory_bytes = 8LL * 1024 * 1024 * 1024;
  env.available_bytes = 6LL * 1024 * 1024 * 1024;
  env.memory_limit_bytes.reason = "no limit";
  env.transparent_huge_pages = "madvise";
  env.kernel = "6.1.0";
  env.distribution = "Debian GNU/Linux 12";
  env.clock_source = "tsc";
  env.memlock_bytes.value = 65536;
  env.clock_resolution_s = 1e-9;
  env.clock_cost_s = 2.4e-8;
  env.libraries = {{"hwloc", "2.9.0"}, {"onednn", "2.6.3"}};
  env.load_average = 0.2;
  report.quality.verdict = "good";
  report.quality.indicators = {{"reference.memory.drift", 0.012, true},
                               {"load_average", 0.2, true}};
  return report;
}

Metric metric(const std::string& name, Params params, const std::string& unit, double value,
              double relative_width) {
  Metric out;
  out.name = name;
  out.params = std::move(params);
  out.unit = unit;
  out.better = unit == "s" ? Better::lower : Better::higher;
  out.value = value;
  for (int i = -4; i <= 4; ++i) out.samples.push_back(value * (1 + relative_width * i / 4));
  out.interval =
      Interval{value * (1 - relative_width), value * (1 + relative_width), 0.95, "order-statistic"};
  out.summary = {{"min", out.samples.front()}, {"median", value}, {"count", 9}};
  out.checked = true;
  out.source = "sample";
  return out;
}

// A smooth step from `low` to `high` around `size`.
double step(double bytes, double size, double low, double high) {
  const double s = 1 / (1 + std::pow(size / bytes, 4));
  return low + (high - low) * s;
}

void add_memory(Report& machine) {
  int index = 0;
  for (double bytes = 4 * kKiB; bytes <= 512 * kMiB; bytes *= std::sqrt(2.0)) {
    const auto size = static_cast<std::int64_t>(bytes / 64) * 64;
    for (const bool huge : {false, true}) {
      double ns = 1.7 + step(bytes, 52 * kKiB, 0, 4.1) + step(bytes, 2.1 * kMiB, 0, 28) +
                  step(bytes, 34 * kMiB, 0, 82);
      if (!huge) ns += step(bytes, 8 * kMiB, 0, 9) + step(bytes, 90 * kMiB, 0, 31);
      const double width = 0.01 + 0.02 * std::fabs(wobble(index));
      machine.metrics.push_back(
          metric("memory.load_latency",
                 {{"working_set_bytes", size}, {"page", std::string(huge ? "huge" : "4k")}}, "s",
                 1e-9 * ns * (1 + 0.02 * wobble(++index)), width));
    }
  }
  const std::pair<const char*, double> kernels[] = {
      {"read", 1.0}, {"write", 0.55}, {"nt_write", 0.5}, {"copy", 0.8}, {"triad", 0.85}};
  for (const int cores : {1, 2}) {
    for (const auto& [kernel, factor] : kernels) {
      for (double bytes = 16 * kKiB; bytes <= 512 * kMiB; bytes *= 2) {
        const bool streaming = std::string(kernel) == "nt_write";
        const double scale = cores == 2 ? 1.85 : 1.0;
        const double cached = step(bytes, 52 * kKiB * cores, 150, 80) -
                              step(bytes, 2.1 * kMiB * cores, 0, 50) -
                              step(bytes, 40 * kMiB, 0, cores == 2 ? 20 : 16);
        const double rate = streaming ? 9.5 * scale : factor * cached * scale;
        machine.metrics.push_back(metric("memory.stream_bandwidth",
                                         {{"kernel", std::string(kernel)},
                                          {"working_set_bytes", static_cast<std::int64_t>(bytes)},
                                          {"cores", std::int64_t{cores}},
                                          {"counting", std::string("stream")}},
                                         "B/s", 1e9 * rate * (1 + 0.03 * wobble(++index)), 0.02));
      }
    }
  }
}

void add_compute(Report& machine) {
  for (const std::int64_t cores : {1, 2}) {
    for (const auto& [dtype, isa, rate] :
         {std::tuple{"f32", "avx2", 78.0}, {"f32", "avx512", 152.0}, {"bf16", "amx", 1650.0}}) {
      machine.metrics.push_back(metric(
          "cpu.flops.rate",
          {{"dtype", std::string(dtype)}, {"instruction_set", std::string(isa)}, {"cores", cores}},
          "FLOP/s", 1e9 * rate * (cores == 2 ? 1.9 : 1), 0.01));
    }
  }
  int index = 0;
  for (const std::int64_t threads : {1, 2}) {
    for (const char* dtype : {"f32", "bf16"}) {
      for (const std::int64_t size : {16, 48, 96, 200, 512, 1536}) {
        for (const std::int64_t m : {8, 128}) {
          const double peak = (dtype[0] == 'f' ? 140e9 : 900e9) * (threads == 2 ? 1.85 : 1);
          const double flop = 2.0 * static_cast<double>(m * size * size);
          const double seconds = flop / peak / (0.75 + 0.1 * wobble(++index)) + 2.5e-6 +
                                 4.0 * static_cast<double>(size * size) / 30e9;
          machine.metrics.push_back(metric("kernel.matmul.rate",
                                           {{"m", m},
                                            {"n", size},
                                            {"k", size},
                                            {"dtype", std::string(dtype)},
                                            {"threads", threads},
                                            {"busy_cores", std::int64_t{0}},
                                            {"direction", std::string("forward")}},
                                           "FLOP/s", flop / seconds, 0.03));
        }
      }
    }
  }
  for (const char* algorithm : {"native", "ring"}) {
    for (double bytes = 256; bytes <= 32 * kMiB; bytes *= 4) {
      const double start = algorithm[0] == 'n' ? 1.4e-6 : 3.1e-6;
      const double rate = algorithm[0] == 'n' ? 5.1e9 : 6.4e9;
      machine.metrics.push_back(metric("collective.all_reduce.time",
                                       {{"bytes", static_cast<std::int64_t>(bytes)},
                                        {"ranks", std::int64_t{2}},
                                        {"comm", std::string("threads")},
                                        {"algorithm", std::string(algorithm)}},
                                       "s", start + bytes / rate, 0.06));
    }
  }
}

struct Configuration {
  Plan plan;
  int number;
};

std::vector<Configuration> configurations() {
  std::vector<Configuration> out;
  int number = 0;
  for (const char* workload : {"mlp", "lenet"}) {
    for (const std::int64_t batch : {64, 256, 1024}) {
      for (const int workers : {1, 2}) {
        Plan plan;
        plan.workload = workload;
        plan.batch = batch;
        plan.workers = workers;
        out.push_back({plan, number++});
      }
    }
  }
  return out;
}

Phases invented_phases(const Plan& plan, double factor) {
  const double samples = static_cast<double>(plan.batch) / plan.workers;
  const double each = plan.workload == "mlp" ? 2.6e-5 : 3.4e-5;
  Phases p;
  p.input = Seconds(factor * 2.0e-5);
  p.forward = Seconds(factor * (1.2e-4 + 0.34 * each * samples));
  p.backward = Seconds(factor * (2.4e-4 + 0.66 * each * samples));
  p.optimizer = Seconds(factor * (plan.workload == "mlp" ? 9e-4 : 7e-5));
  if (plan.workers > 1) {
    p.communication_exposed = Seconds(factor * (plan.workload == "mlp" ? 1.1e-3 : 8e-5));
    p.communication_hidden = Seconds(factor * (plan.workload == "mlp" ? 8e-4 : 6e-5));
    p.idle = Seconds(factor * 6e-5);
  }
  return p;
}

Seconds sum(const Phases& p) {
  return p.input + p.h2d + p.forward + p.backward + p.communication_exposed + p.optimizer + p.idle;
}

WorkloadSummary workload_summary(const Plan& plan) {
  const bool mlp = plan.workload == "mlp";
  return {plan.workload, mlp ? 1863690 : 129068,
          Flop((mlp ? 1.1e7 : 1.4e7) * static_cast<double>(plan.batch)), "fashion-mnist"};
}

Report sample_prediction(const Configuration& c) {
  Report report = envelope(10 + c.number, {"plimsoll", "predict", "--workload", c.plan.workload});
  Prediction p;
  p.workload = workload_summary(c.plan);
  p.plan = c.plan;
  p.machine = {sample_id(1), std::string(64, 'a'), "machine.json", "2026-01-15T10:01:00.000000Z"};
  p.phases = invented_phases(c.plan, 1.0);
  const Seconds time = sum(p.phases);
  p.step_time = {time, time * 0.9, time * 1.12, Kind::fitted, "model"};
  p.breakdown = {{"fc1.forward", "forward", p.phases.forward * 0.6, Seconds(), "compute", false}};
  p.memory = {{"parameters", Bytes(7.4e6)}, {"gradients", Bytes(7.4e6)}};
  const double rate = static_cast<double>(c.plan.batch) / time.value();
  p.binds = c.plan.batch == 64 ? "memory" : "compute";
  p.limits = {{"compute", PerSecond(rate * (p.binds == "compute" ? 1.05 : 2.2))},
              {"memory", PerSecond(rate * (p.binds == "memory" ? 1.05 : 1.9))},
              {"input", PerSecond(rate * 14)}};
  p.sensitivity = {{"kernel.matmul.rate", -0.58}, {"memory.stream_bandwidth", -0.21}};
  if (c.plan.workers > 1) {
    p.limits.push_back({"communication", PerSecond(rate * 4.1)});
    p.sensitivity.push_back({"collective.all_reduce.time", 0.12});
  }
  p.assumptions = {"the other cores run nothing else"};
  report.subject = std::move(p);
  return report;
}

Report sample_run(const Configuration& c) {
  Report report = envelope(30 + c.number, {"plimsoll", "train", "--workload", c.plan.workload});
  Run run;
  run.workload = workload_summary(c.plan);
  run.plan = c.plan;
  run.steps = 300;
  run.warmup_steps = 5;
  run.seed = 1;
  run.learning_rate = 0.05;
  run.momentum = 0.9;
  run.backend = "oneDNN 2.6.3";
  const Phases phases = invented_phases(c.plan, 1 + 0.14 * wobble(3 * c.number + 1));
  for (int rank = 0; rank < c.plan.workers; ++rank) {
    run.ranks.push_back({rank, std::to_string(rank), phases});
  }
  run.prediction =
      ReportRef{sample_id(10 + c.number), std::string(64, 'b'),
                "predictions/" + std::to_string(c.number) + ".json", "2026-01-15T10:10:00.000000Z"};
  report.subject = std::move(run);
  report.metrics.push_back(metric("train.step_time", {}, "s", sum(phases).value(), 0.02));
  Metric loss;
  loss.name = "train.loss";
  loss.unit = "1";
  loss.better = Better::lower;
  const double speed = 30 + 0.1 * static_cast<double>(c.plan.batch);
  for (int i = 0; i < 300; ++i) {
    const double noise = 0.25 / std::sqrt(static_cast<double>(c.plan.batch) / 64);
    loss.samples.push_back(0.38 + 1.92 * std::exp(-i / speed) +
                           noise * 0.4 * wobble(7 * i + static_cast<int>(c.plan.batch)));
  }
  loss.value = loss.samples.back();
  loss.source = "sample";
  report.metrics.push_back(std::move(loss));
  report.metrics.push_back(
      metric("train.accuracy", {}, "1", c.plan.workload == "mlp" ? 0.871 : 0.883, 0.0));
  return report;
}

Report sample_validation(const std::vector<Report>& predictions, const std::vector<Report>& runs) {
  Report report = envelope(50, {"plimsoll", "validate"});
  Validation v;
  v.machine = {sample_id(1), std::string(64, 'a'), "machine.json", "2026-01-15T10:01:00.000000Z"};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& prediction = std::get<Prediction>(predictions[i].subject);
    const auto& run = std::get<Run>(runs[i].subject);
    const Metric& time = runs[i].metrics.front();
    ValidationCell cell;
    cell.plan = run.plan;
    cell.prediction = *run.prediction;
    cell.runs = {
        {runs[i].id, std::string(64, 'c'), "runs/" + std::to_string(i) + ".json", runs[i].created}};
    cell.predicted = prediction.step_time.value;
    cell.predicted_low = prediction.step_time.low;
    cell.predicted_high = prediction.step_time.high;
    cell.measured = Seconds(*time.value);
    cell.measured_low = Seconds(time.interval->low);
    cell.measured_high = Seconds(time.interval->high);
    cell.error = (cell.predicted - cell.measured) / cell.measured;
    cell.drift_ratio = 1 + 0.03 * wobble(static_cast<int>(i) + 40);
    cell.corrected_error = (1 + cell.error) * cell.drift_ratio - 1;
    cell.aa_spread = 0.01 + 0.03 * std::fabs(wobble(static_cast<int>(i) + 9));
    cell.inside = cell.measured >= cell.predicted_low && cell.measured <= cell.predicted_high;
    cell.attempts = i == 4 ? 2 : 1;
    cell.predicted_phases = prediction.phases;
    cell.measured_phases = run.ranks.front().phases;
    v.rows.push_back(std::move(cell));
  }
  v.drift_rule = "step time times the geometric mean of the reference loops, now over when probed";
  v.leakage = "none: every input comes from generic probes";
  report.subject = std::move(v);
  return report;
}

}  // namespace

Report sample_machine() {
  Report machine = envelope(1, {"plimsoll", "probe", "--quick"});
  MachineSubject subject;
  subject.level = "quick";
  for (const char* probe : {"cpu.flops", "memory.load_latency", "memory.stream_bandwidth",
                            "kernel.matmul", "collective.all_reduce"}) {
    subject.probes.push_back({probe, Status::ok, "", Seconds(4.2)});
  }
  subject.probes.push_back(
      {"storage.read", Status::skipped, "the folder is on tmpfs", Seconds(0.01)});
  machine.subject = std::move(subject);
  add_memory(machine);
  add_compute(machine);
  Metric skipped;
  skipped.name = "storage.read.bandwidth";
  skipped.unit = "B/s";
  skipped.status = Status::skipped;
  skipped.reason = "the folder is on tmpfs";
  machine.metrics.push_back(std::move(skipped));
  machine.findings = {
      {"cpu.governor", Severity::info, "no cpufreq here: the clock cannot be read or fixed",
       "short CPU probes may read slow", "run on bare metal to fix the clock"},
      {"limits.memlock", Severity::warning, "locked memory is limited to 64 KiB",
       "pinned buffers are not possible, copies are staged", "ulimit -l unlimited"}};
  return machine;
}

std::vector<Report> sample_reports() {
  std::vector<Report> predictions, runs;
  for (const Configuration& c : configurations()) {
    predictions.push_back(sample_prediction(c));
    runs.push_back(sample_run(c));
  }
  std::vector<Report> out = {sample_machine()};
  out.insert(out.end(), predictions.begin(), predictions.end());
  out.insert(out.end(), runs.begin(), runs.end());
  out.push_back(sample_validation(predictions, runs));
  return out;
}

}  // namespace plimsoll::reports::testing
