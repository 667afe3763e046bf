// Which field of which record is which key: said once, read by the writer and by the reader.
//
// The order here is the canonical order in the file. A key is the field's name, with its unit
// where the field's type carries one. `required` is always written and must be there on reading;
// `optional` is left out when empty. A field that a later minor version adds must be optional.
// Internal to reports/.

#pragma once

#include <array>
#include <string_view>

#include "core/record.hpp"
#include "reports/report.hpp"

namespace plimsoll::reports {

// The words of the enumerations, in the order of their enumerators.
constexpr std::array<std::string_view, 3> words(Better) { return {"lower", "higher", "none"}; }
constexpr std::array<std::string_view, 4> words(Status) {
  return {"ok", "skipped", "failed", "implausible"};
}
constexpr std::array<std::string_view, 5> words(Estimator) {
  return {"median", "min", "mean", "max", "fit"};
}
constexpr std::array<std::string_view, 3> words(Severity) { return {"info", "warning", "error"}; }
constexpr std::array<std::string_view, 5> words(Kind) {
  return {"datasheet", "measured", "fitted", "assumed", "imported"};
}
constexpr std::array<std::string_view, 2> words(DType) { return {"f32", "bf16"}; }

template <class Enum>
std::string_view word(Enum value) {
  return words(value)[static_cast<std::size_t>(value)];
}

// A is the reader or the writer; the writer sees records as const.
template <class A, class T>
using Of = typename A::template Ref<T>;

// --- Metrics and findings ------------------------------------------------------------------------
template <class A>
void fields(A& a, Of<A, Interval>& v) {
  a.required("low", v.low);
  a.required("high", v.high);
  a.required("confidence", v.confidence);
  a.required("method", v.method);
}
template <class A>
void fields(A& a, Of<A, Ceiling>& v) {
  a.required("value", v.value);
  a.required("source", v.source);
}
template <class A>
void fields(A& a, Of<A, Metric>& v) {
  a.required("name", v.name);
  a.optional("params", v.params);
  a.required("unit", v.unit);
  a.required("better", v.better);
  a.required("status", v.status);
  a.optional("reason", v.reason);
  a.optional("value", v.value);
  a.required("estimator", v.estimator);
  a.optional("interval", v.interval);
  a.optional("summary", v.summary);
  a.optional("samples", v.samples);
  a.optional("ceiling", v.ceiling);
  a.optional("checked", v.checked);
  a.required("kind", v.kind);
  a.optional("source", v.source);
}
template <class A>
void fields(A& a, Of<A, Finding>& v) {
  a.required("id", v.id);
  a.required("severity", v.severity);
  a.required("message", v.message);
  a.optional("effect", v.effect);
  a.optional("fix", v.fix);
}

// --- Envelope ------------------------------------------------------------------------------------
template <class A>
void fields(A& a, Of<A, Tool>& v) {
  a.required("name", v.name);
  a.required("version", v.version);
  a.optional("git_commit", v.git_commit);
  a.required("git_dirty", v.git_dirty);
  a.optional("compiler", v.compiler);
  a.optional("flags", v.flags);
  a.optional("build_type", v.build_type);
}
template <class A>
void fields(A& a, Of<A, Command>& v) {
  a.required("argv", v.argv);
  a.optional("seed", v.seed);
  a.optional("variables", v.variables);
}
template <class A, class T>
void fields_of_known(A& a, T& v) {
  a.optional("value", v.value);
  a.optional("reason", v.reason);
}
template <class A>
void fields(A& a, Of<A, Known<std::string>>& v) {
  fields_of_known(a, v);
}
template <class A>
void fields(A& a, Of<A, Known<double>>& v) {
  fields_of_known(a, v);
}
template <class A>
void fields(A& a, Of<A, Known<std::int64_t>>& v) {
  fields_of_known(a, v);
}
template <class A>
void fields(A& a, Of<A, CacheFact>& v) {
  a.required("level", v.level);
  a.required("type", v.type);
  a.optional("size_bytes", v.size_bytes);
  a.required("instances", v.instances);
}
template <class A>
void fields(A& a, Of<A, NumaFact>& v) {
  a.required("id", v.id);
  a.required("memory_bytes", v.memory_bytes);
  a.required("cpus", v.cpus);
}
template <class A>
void fields(A& a, Of<A, Environment>& v) {
  a.required("hostname", v.hostname);
  a.optional("vendor", v.vendor);
  a.required("virtualised", v.virtualised);
  a.optional("hypervisor", v.hypervisor);
  a.required("cpu_model", v.cpu_model);
  a.required("architecture", v.architecture);
  a.optional("present_cpus", v.present_cpus);
  a.optional("online_cpus", v.online_cpus);
  a.required("usable_cpus", v.usable_cpus);
  a.required("sockets", v.sockets);
  a.required("cores", v.cores);
  a.required("hardware_threads", v.hardware_threads);
  a.optional("governor", v.governor);
  a.optional("frequency_hz", v.frequency_hz);
  a.optional("cpu_quota", v.cpu_quota);
  a.optional("isa", v.isa);
  a.optional("caches", v.caches);
  a.optional("numa", v.numa);
  a.required("memory_bytes", v.memory_bytes);
  a.required("available_bytes", v.available_bytes);
  a.optional("memory_limit_bytes", v.memory_limit_bytes);
  a.optional("transparent_huge_pages", v.transparent_huge_pages);
  a.required("kernel", v.kernel);
  a.optional("distribution", v.distribution);
  a.optional("clock_source", v.clock_source);
  a.optional("memlock_bytes", v.memlock_bytes);
  a.required("clock_resolution_s", v.clock_resolution_s);
  a.required("clock_cost_s", v.clock_cost_s);
  a.optional("libraries", v.libraries);
  a.required("load_average", v.load_average);
  a.optional("steal_ratio", v.steal_ratio);
}
template <class A>
void fields(A& a, Of<A, Indicator>& v) {
  a.required("id", v.id);
  a.required("value", v.value);
  a.required("ok", v.ok);
}
template <class A>
void fields(A& a, Of<A, Quality>& v) {
  a.required("verdict", v.verdict);
  a.optional("indicators", v.indicators);
}
template <class A>
void fields(A& a, Of<A, ReportRef>& v) {
  a.required("id", v.id);
  a.required("sha256", v.sha256);
  a.required("path", v.path);
  a.required("created", v.created);
}

// --- Subjects ------------------------------------------------------------------------------------
template <class A>
void fields(A& a, Of<A, ProbeOutcome>& v) {
  a.required("id", v.id);
  a.required("status", v.status);
  a.optional("reason", v.reason);
  a.required("duration_s", v.duration);
}
template <class A>
void fields(A& a, Of<A, MachineSubject>& v) {
  a.required("level", v.level);
  a.required("probes", v.probes);
  a.required("missing", v.missing);
  a.required("partial", v.partial);
}
template <class A>
void fields(A& a, Of<A, Plan>& v) {
  a.required("workload", v.workload);
  a.required("batch", v.batch);
  a.required("dtype", v.dtype);
  a.required("device", v.device);
  a.required("workers", v.workers);
  a.required("threads", v.threads);
  a.required("comm", v.comm);
  a.required("sync", v.sync);
  a.required("algorithm", v.algorithm);
  a.required("bucket_bytes", v.bucket);
  a.required("overlap", v.overlap);
  a.required("execution", v.execution);
  a.required("loader_workers", v.loader_workers);
  a.required("prefetch", v.prefetch);
  a.unless_default("accumulate", v.accumulate, 1);
  a.optional("optimizer", v.optimizer);
}
template <class A>
void fields(A& a, Of<A, UpdateRule>& v) {
  a.required("beta1", v.beta1);
  a.required("beta2", v.beta2);
  a.required("epsilon", v.epsilon);
  a.required("weight_decay", v.weight_decay);
  a.required("clip_norm", v.clip_norm);
  a.required("schedule", v.schedule);
  a.required("warmup_steps", v.warmup_steps);
  a.required("step_every", v.step_every);
  a.required("step_factor", v.step_factor);
}
template <class A>
void fields(A& a, Of<A, Resumed>& v) {
  a.required("path", v.path);
  a.required("step", v.step);
}
template <class A>
void fields(A& a, Of<A, WorkloadSummary>& v) {
  a.required("name", v.name);
  a.required("parameters", v.parameters);
  a.required("flop_per_step", v.flop_per_step);
  a.required("dataset", v.dataset);
  a.optional("graph_sha256", v.graph_sha256);
}
template <class A>
void fields(A& a, Of<A, Phases>& v) {
  a.required("input_s", v.input);
  a.required("h2d_s", v.h2d);
  a.required("forward_s", v.forward);
  a.required("backward_s", v.backward);
  a.required("communication_exposed_s", v.communication_exposed);
  a.required("communication_hidden_s", v.communication_hidden);
  a.required("optimizer_s", v.optimizer);
  a.required("idle_s", v.idle);
}
template <class A>
void fields(A& a, Of<A, BreakdownItem>& v) {
  a.required("component", v.component);
  a.required("phase", v.phase);
  a.required("seconds", v.seconds);
  a.required("hidden_s", v.hidden);
  a.required("bound_by", v.bound_by);
  a.required("extrapolated", v.extrapolated);
}
template <class A>
void fields(A& a, Of<A, MemoryItem>& v) {
  a.required("name", v.name);
  a.required("bytes", v.bytes);
}
template <class A>
void fields(A& a, Of<A, Limit>& v) {
  a.required("resource", v.resource);
  a.required("samples_per_second", v.samples_per_second);
}
template <class A>
void fields(A& a, Of<A, Sensitivity>& v) {
  a.required("input", v.input);
  a.required("elasticity", v.elasticity);
}
template <class A>
void fields(A& a, Of<A, Estimate<Seconds>>& v) {
  a.required("value", v.value);
  a.required("low", v.low);
  a.required("high", v.high);
  a.required("kind", v.kind);
  a.optional("source", v.source);
}
template <class A>
void fields(A& a, Of<A, Prediction>& v) {
  a.required("workload", v.workload);
  a.required("plan", v.plan);
  a.required("machine", v.machine);
  a.required("tier", v.tier);
  a.required("step_time_s", v.step_time);
  a.required("phases", v.phases);
  a.required("breakdown", v.breakdown);
  a.required("memory", v.memory);
  a.required("binds", v.binds);
  a.required("limits", v.limits);
  a.required("sensitivity", v.sensitivity);
  a.required("extrapolated", v.extrapolated);
  a.required("assumptions", v.assumptions);
}
template <class A>
void fields(A& a, Of<A, RankPhases>& v) {
  a.required("rank", v.rank);
  a.required("cpus", v.cpus);
  a.required("phases", v.phases);
}
template <class A>
void fields(A& a, Of<A, Run>& v) {
  a.required("workload", v.workload);
  a.required("plan", v.plan);
  a.required("steps", v.steps);
  a.required("warmup_steps", v.warmup_steps);
  a.required("epochs", v.epochs);
  a.required("seed", v.seed);
  a.required("learning_rate", v.learning_rate);
  a.required("momentum", v.momentum);
  a.optional("optimizer", v.optimizer);
  a.optional("update", v.update);
  a.optional("resumed", v.resumed);
  a.required("backend", v.backend);
  a.optional("implementations", v.implementations);
  a.required("ranks", v.ranks);
  a.optional("prediction", v.prediction);
  a.required("partial", v.partial);
}
template <class A>
void fields(A& a, Of<A, ValidationCell>& v) {
  a.required("plan", v.plan);
  a.required("prediction", v.prediction);
  a.required("runs", v.runs);
  a.required("predicted_s", v.predicted);
  a.required("predicted_low_s", v.predicted_low);
  a.required("predicted_high_s", v.predicted_high);
  a.required("measured_s", v.measured);
  a.required("measured_low_s", v.measured_low);
  a.required("measured_high_s", v.measured_high);
  a.required("error", v.error);
  a.required("corrected_error", v.corrected_error);
  a.required("drift_ratio", v.drift_ratio);
  a.optional("aa_spread", v.aa_spread);
  a.required("inside", v.inside);
  a.required("attempts", v.attempts);
  a.required("predicted_phases", v.predicted_phases);
  a.required("measured_phases", v.measured_phases);
}
template <class A>
void fields(A& a, Of<A, Validation>& v) {
  a.required("machine", v.machine);
  a.required("rows", v.rows);
  a.required("drift_rule", v.drift_rule);
  a.required("leakage", v.leakage);
  a.required("partial", v.partial);
}
template <class A>
void fields(A& a, Of<A, Comparison>& v) {
  a.required("inputs", v.inputs);
}

// --- The job, a file of its own ------------------------------------------------------------------
template <class A>
void fields(A& a, Of<A, Job>& v) {
  a.required("plan", v.plan);
  a.optional("workload_text", v.workload_text);
  a.required("steps", v.steps);
  a.required("epochs", v.epochs);
  a.required("warmup_steps", v.warmup_steps);
  a.required("seed", v.seed);
  a.required("learning_rate", v.learning_rate);
  a.required("momentum", v.momentum);
  a.required("update", v.update);
  a.required("evaluate", v.evaluate);
  a.required("augment", v.augment);
  a.required("evaluate_every", v.evaluate_every);
  a.optional("checkpoint", v.checkpoint);
  a.required("checkpoint_every", v.checkpoint_every);
  a.required("keep", v.keep);
  a.optional("resume", v.resume);
  a.optional("trace", v.trace);
  a.required("operators", v.operators);
  a.optional("machine", v.machine);
  a.optional("data_dir", v.data_dir);
  a.optional("prediction", v.prediction);
  a.optional("out", v.out);
  a.optional("argv", v.argv);
}

// What is wrong with a record beyond the types of its fields; empty when nothing is.
template <class T>
std::string problem_of(const T&) {
  return {};
}
inline std::string problem_of(const Metric& metric) {
  const bool numbered = metric.status == Status::ok || metric.status == Status::implausible;
  const std::string status = " with status " + std::string(word(metric.status));
  if (metric.status != Status::ok && metric.reason.empty()) return "no reason" + status;
  if (numbered && !metric.value) return "no value" + status;
  if (!numbered && metric.value) return "a value" + status;
  if (metric.interval && metric.interval->low > metric.interval->high) {
    return "interval whose low end is above its high end";
  }
  return {};
}
inline std::string problem_of(const ProbeOutcome& outcome) {
  if (outcome.status != Status::ok && outcome.reason.empty()) {
    return "no reason with status " + std::string(word(outcome.status));
  }
  return {};
}

}  // namespace plimsoll::reports
