// Made-up reports of a made-up machine, two cores, "node-a".

#include "tests/reports/samples.hpp"

#include <fmt/format.h>

namespace plimsoll::reports::testing {
namespace {

constexpr const char* kTime = "2026-03-01T12:00:00.250000Z";

ReportRef reference(int n, const std::string& path) {
  return {.id = fmt::format("00000000-0000-4000-8000-{:012}", n),
          .sha256 = fmt::format("{:064x}", n),
          .path = path,
          .created = kTime};
}

Environment environment() {
  Environment e;
  e.hostname = "node-a";
  e.vendor = "Example";
  e.virtualised = true;
  e.hypervisor = "kvm";
  e.cpu_model = "Example CPU 2.0 GHz";
  e.architecture = "x86_64";
  e.present_cpus = e.online_cpus = e.usable_cpus = "0-1";
  e.sockets = 1;
  e.cores = 2;
  e.hardware_threads = 2;
  e.governor.reason = "no cpufreq in this virtual machine";
  e.frequency_hz.value = 2.0e9;
  e.cpu_quota.value = 2.0;
  e.isa = {"avx2", "avx512f"};
  e.caches = {{.level = 1, .type = "data", .size_bytes = 32768, .instances = 2},
              {.level = 2, .type = "unified", .size_bytes = 2097152, .instances = 2}};
  e.numa = {{.id = 0, .memory_bytes = 8589934592, .cpus = "0-1"}};
  e.memory_bytes = 8589934592;
  e.available_bytes = 7516192768;
  e.memory_limit_bytes.reason = "no limit is set";
  e.transparent_huge_pages = "madvise";
  e.kernel = "Linux 6.1.0";
  e.distribution = "Debian GNU/Linux 12";
  e.clock_source = "tsc";
  e.memlock_bytes.value = 8388608;
  e.clock_resolution_s = 1e-9;
  e.clock_cost_s = 2.5e-8;
  e.libraries = {{"hwloc", "2.9.0"}, {"onednn", "2.6.3"}};
  e.load_average = 0.25;
  e.steal_ratio = 0.0;
  return e;
}

Report envelope(int n, Subject subject) {
  Report r;
  r.id = fmt::format("00000000-0000-4000-8000-{:012}", n);
  r.created = kTime;
  r.tool = {.name = "plimsoll",
            .version = "0.1.0",
            .git_commit = "0123456789abcdef",
            .compiler = "GNU 12.2.0",
            .flags = "-O3",
            .build_type = "Release",
            .git_dirty = false};
  r.command = {.argv = {"plimsoll", kind_name(subject), "--out", "a \"b\", c"},
               .seed = 1,
               .variables = {{"OMP_NUM_THREADS", "1"}}};
  r.environment = environment();
  r.quality = {.verdict = "good", .indicators = {{.id = "noise", .value = 0.01, .ok = true}}};
  r.subject = std::move(subject);
  r.findings = {{.id = "cpu.governor",
                 .severity = Severity::warning,
                 .message = "the CPU governor is powersave",
                 .effect = "short probes may read slow",
                 .fix = "cpupower frequency-set -g performance"}};
  return r;
}

Metric metric(const std::string& name, Params params, const std::string& unit, Better better,
              double value) {
  Metric m;
  m.name = name;
  m.params = std::move(params);
  m.unit = unit;
  m.better = better;
  m.value = value;
  m.interval = Interval{.low = 0.98 * value, .high = 1.03 * value, .method = "order-statistic"};
  m.samples = {0.98 * value, value, 1.03 * value};
  m.summary = {{"count", 3.0}, {"median", value}, {"min", 0.98 * value}};
  m.checked = true;
  m.source = "plimsoll-probe";
  return m;
}

Phases phases(double scale) {
  return {.input = Seconds(0.0002 * scale),
          .h2d = Seconds(0.0),
          .forward = Seconds(0.004 * scale),
          .backward = Seconds(0.007 * scale),
          .communication_exposed = Seconds(0.0005 * scale),
          .communication_hidden = Seconds(0.0001 * scale),
          .optimizer = Seconds(0.001 * scale),
          .idle = Seconds(0.00005 * scale)};
}

WorkloadSummary workload() {
  return {.name = "mlp",
          .parameters = 1863690,
          .flop_per_step = Flop(2.4e9),
          .dataset = "fashion-mnist",
          .graph_sha256 = std::string(64, 'a')};
}

Plan plan(std::int64_t batch, int workers) {
  Plan p;
  p.batch = batch;
  p.workers = workers;
  return p;
}

}  // namespace

Report machine_sample() {
  MachineSubject s;
  s.level = "quick";
  s.probes = {{.id = "memory.load_latency", .duration = Seconds(2.5)},
              {.id = "pcie.copy",
               .status = Status::skipped,
               .reason = "no GPU here",
               .duration = Seconds(0.001)}};
  s.missing = {"pcie.copy.bandwidth"};
  Report r = envelope(1, s);
  const auto size = [](std::int64_t bytes) { return ParamValue(bytes); };
  r.metrics = {
      metric("memory.load_latency", {{"working_set_bytes", size(16384)}, {"page", "4k"}}, "s",
             Better::lower, 2.04e-9),
      metric("memory.load_latency", {{"working_set_bytes", size(1048576)}, {"page", "4k"}}, "s",
             Better::lower, 7.5e-9),
      metric("memory.stream_bandwidth",
             {{"working_set_bytes", size(268435456)}, {"kernel", "triad"}, {"cores", size(2)}},
             "B/s", Better::higher, 1.234e10),
      metric("kernel.matmul.rate", {{"m", size(64)}, {"dtype", "f32"}, {"ratio", 0.5}}, "FLOP/s",
             Better::higher, 9.87e10),
      metric("kernel.matmul.rate", {{"m", size(128)}, {"dtype", "f32"}, {"ratio", 0.5}}, "FLOP/s",
             Better::higher, 1.1e11)};
  r.metrics[2].ceiling = Ceiling{.value = 2e10, .source = "specification"};
  r.metrics[4].status = Status::implausible;
  r.metrics[4].reason = "above the peak of this CPU";
  Metric missing;
  missing.name = "pcie.copy.bandwidth";
  missing.unit = "B/s";
  missing.better = Better::higher;
  missing.status = Status::skipped;
  missing.reason = "no GPU here";
  r.metrics.push_back(missing);
  return r;
}

Report prediction_sample() {
  Prediction p;
  p.workload = workload();
  p.plan = plan(256, 2);
  p.machine = reference(1, "machine.json");
  p.step_time = {.value = Seconds(0.0128),
                 .low = Seconds(0.0119),
                 .high = Seconds(0.0141),
                 .kind = Kind::fitted,
                 .source = "models/step"};
  p.phases = phases(1);
  p.breakdown = {{.component = "fc1.forward",
                  .phase = "forward",
                  .seconds = Seconds(0.003),
                  .hidden = Seconds(0),
                  .bound_by = "compute"},
                 {.component = "all_reduce",
                  .phase = "communication_exposed",
                  .seconds = Seconds(0.0006),
                  .hidden = Seconds(0.0001),
                  .bound_by = "communication",
                  .extrapolated = true}};
  p.memory = {{.name = "parameters", .bytes = Bytes(7454760)},
              {.name = "activations", .bytes = Bytes(1048576)}};
  p.binds = "compute";
  p.limits = {{.resource = "compute", .samples_per_second = PerSecond(21000)},
              {.resource = "memory", .samples_per_second = PerSecond(150000)}};
  p.sensitivity = {{.input = "kernel.matmul.rate", .elasticity = -0.81}};
  p.extrapolated = {"all_reduce above 1 MiB"};
  p.assumptions = {"no other load on the machine"};
  Report r = envelope(2, p);
  r.metrics = {metric("predict.step_time", {}, "s", Better::lower, 0.0128),
               metric("predict.sample_rate", {}, "1/s", Better::higher, 20000)};
  for (Metric& m : r.metrics) m.kind = Kind::fitted;
  return r;
}

Report run_sample() {
  Run run;
  run.workload = workload();
  run.plan = plan(256, 2);
  run.steps = 100;
  run.warmup_steps = 5;
  run.epochs = 1;
  run.seed = 1;
  run.learning_rate = 0.1;
  run.momentum = 0.9;
  run.backend = "oneDNN 2.6.3";
  run.implementations = {{"fc1.forward", "brgemm:avx512_core"}};
  run.ranks = {{.rank = 0, .cpus = "0", .phases = phases(1.02)},
               {.rank = 1, .cpus = "1", .phases = phases(1.04)}};
  run.prediction = reference(2, "predictions/mlp-256-2.json");
  Report r = envelope(3, run);
  r.metrics = {metric("train.step_time", {}, "s", Better::lower, 0.0131),
               metric("train.sample_rate", {}, "1/s", Better::higher, 19540),
               metric("train.loss", {}, "1", Better::lower, 0.53)};
  return r;
}

Report validation_sample() {
  Validation v;
  v.machine = reference(1, "machine.json");
  int n = 10;
  for (const int workers : {1, 2}) {
    for (const std::int64_t batch : {64, 256}) {
      ValidationCell c;
      c.plan = plan(batch, workers);
      c.prediction = reference(n, fmt::format("predictions/{}.json", n));
      c.runs = {reference(n + 20, fmt::format("runs/{}-1.json", n)),
                reference(n + 40, fmt::format("runs/{}-2.json", n))};
      const double step = 5e-5 * static_cast<double>(batch) / workers;
      c.predicted = Seconds(step);
      c.predicted_low = Seconds(0.95 * step);
      c.predicted_high = Seconds(1.06 * step);
      c.measured = Seconds((n == 13 ? 1.25 : 1.02) * step);
      c.measured_low = 0.99 * c.measured;
      c.measured_high = 1.01 * c.measured;
      c.error = (c.predicted - c.measured) / c.measured;
      c.corrected_error = c.error + 0.01;
      c.drift_ratio = 1.01;
      if (n != 12) c.aa_spread = 0.013;
      c.inside = n != 13;
      c.predicted_phases = phases(step / 0.0128);
      c.measured_phases = phases(1.02 * step / 0.0128);
      if (n == 13) c.measured_phases.communication_exposed = Seconds(0.25 * step);
      v.rows.push_back(c);
      ++n;
    }
  }
  v.drift_rule = "error of the time divided by the median ratio of the reference loops";
  v.leakage = "none: nothing of the workload was run before";
  Report r = envelope(4, v);
  const Params tier = {{"tier", "analytic"}};
  r.metrics = {metric("validation.error_median", tier, "1", Better::lower, 0.0196),
               metric("validation.error_p90", tier, "1", Better::lower, 0.2),
               metric("validation.error_max", tier, "1", Better::lower, 0.2),
               metric("validation.bias", tier, "1", Better::none, -0.0647),
               metric("validation.coverage", tier, "1", Better::higher, 0.75)};
  for (Metric& m : r.metrics) m.interval.reset();
  return r;
}

Report comparison_sample() {
  return envelope(5, Comparison{.inputs = {reference(1, "a.json"), reference(6, "b.json")}});
}

std::vector<Report> all_samples() {
  return {machine_sample(), prediction_sample(), run_sample(), validation_sample(),
          comparison_sample()};
}

}  // namespace plimsoll::reports::testing
