// The records that cross a file: the only structs that become JSON (reports/ does that).
//
// One envelope for five kinds of report: machine, prediction, run, validation, comparison. The
// field names here are the names in the file; quantities are SI base units.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/estimate.hpp"
#include "core/plan.hpp"
#include "core/update_rule.hpp"

namespace plimsoll {

// --- Metrics -------------------------------------------------------------------------------------
using ParamValue = std::variant<std::string, std::int64_t, double, bool>;
using Params = std::map<std::string, ParamValue>;

enum class Better { lower, higher, none };
enum class Status { ok, skipped, failed, implausible };  // implausible keeps its number
enum class Estimator { median, min, mean, max, fit };

struct Interval {
  double low = 0, high = 0, confidence = 0.95;
  std::string method;  // "order-statistic", "bootstrap", ...
};

struct Ceiling {
  double value = 0;
  std::string source;  // specification | measured | model, and which
};

struct Metric {
  std::string name;  // lower-case dotted: the probe's id and the quantity
  Params params;
  std::string unit;  // s, B, B/s, FLOP/s, 1/s, Hz, degC, W, J, 1
  Better better = Better::none;
  Status status = Status::ok;
  std::string reason;           // required unless status is ok
  std::optional<double> value;  // absent when skipped or failed
  Estimator estimator = Estimator::median;
  std::optional<Interval> interval;
  std::map<std::string, double> summary;  // derived from samples: min, median, p90, p99, mad, count
  std::vector<double> samples;
  std::optional<Ceiling> ceiling;
  std::optional<bool> checked;  // the answer itself was verified
  Kind kind = Kind::measured;
  std::string source;  // program, library or implementation that produced the number
};

enum class Severity { info, warning, error };
struct Finding {
  std::string id;  // dotted, explained by `plimsoll explain ID`
  Severity severity = Severity::info;
  std::string message;
  std::string effect;
  std::string fix;
};

// --- Envelope ------------------------------------------------------------------------------------
struct Tool {
  std::string name = "plimsoll", version, git_commit, compiler, flags, build_type;
  bool git_dirty = false;
};

struct Command {
  std::vector<std::string> argv;
  std::optional<std::int64_t> seed;
  std::map<std::string, std::string> variables;  // allow-list only, never the whole environment
};

// A fact about the host that may be unknown: then `reason` says why.
template <class T>
struct Known {
  std::optional<T> value;
  std::string reason;
};

struct CacheFact {
  int level = 0;
  std::string type;  // data | unified | instruction
  std::optional<std::int64_t> size_bytes;
  int instances = 0;
};
struct NumaFact {
  int id = 0;
  std::int64_t memory_bytes = 0;
  std::string cpus;  // cpulist
};

struct Environment {
  // host
  std::string hostname;
  std::string vendor;
  bool virtualised = false;
  std::string hypervisor;
  // cpu: `online` and `usable` are cpulists ("0-3,8"); usable = affinity and cpuset
  std::string cpu_model, architecture, present_cpus, online_cpus, usable_cpus;
  int sockets = 0, cores = 0, hardware_threads = 0;
  Known<std::string> governor;
  Known<double> frequency_hz;
  Known<double> cpu_quota;       // CPUs' worth of time granted by the cgroup
  std::vector<std::string> isa;  // avx2, avx512f, amx_bf16, ...
  std::vector<CacheFact> caches;
  std::vector<NumaFact> numa;
  // memory
  std::int64_t memory_bytes = 0, available_bytes = 0;
  Known<std::int64_t> memory_limit_bytes;
  std::string transparent_huge_pages;
  // os
  std::string kernel, distribution, clock_source;
  Known<std::int64_t> memlock_bytes;
  double clock_resolution_s = 0, clock_cost_s = 0;
  std::map<std::string, std::string> libraries;  // hwloc, onednn, google-benchmark, ...
  // noise at the time of writing
  double load_average = 0;
  std::optional<double> steal_ratio;
};

struct Indicator {
  std::string id;
  double value = 0;
  bool ok = true;
};
struct Quality {
  std::string verdict = "good";  // good | noisy | invalid
  std::vector<Indicator> indicators;
};

// Points at another report and proves which bytes were meant.
struct ReportRef {
  std::string id, sha256, path, created;
};

// --- Subjects ------------------------------------------------------------------------------------
struct ProbeOutcome {
  std::string id;
  Status status = Status::ok;
  std::string reason;
  Seconds duration;
};
struct MachineSubject {
  std::string level;  // quick | default | full
  std::vector<ProbeOutcome> probes;
  std::vector<std::string> missing;  // what the model needs and was not measured
  bool partial = false;              // interrupted or timed out
};

struct WorkloadSummary {
  std::string name;
  std::int64_t parameters = 0;
  Flop flop_per_step;  // of the whole global batch: forward and backward
  std::string dataset;
  std::string graph_sha256;  // of the network's input and operators, however it was named
};

// Phases have the same names in a prediction and a run; seconds a step and rank.
struct Phases {
  Seconds input, h2d, forward, backward, communication_exposed, communication_hidden, optimizer,
      idle;
};
struct NamedPhase {
  const char* name;
  Seconds Phases::*time;
};
inline constexpr std::array<NamedPhase, 8> kNamedPhases = {
    {{"input", &Phases::input},
     {"h2d", &Phases::h2d},
     {"forward", &Phases::forward},
     {"backward", &Phases::backward},
     {"communication_exposed", &Phases::communication_exposed},
     {"communication_hidden", &Phases::communication_hidden},
     {"optimizer", &Phases::optimizer},
     {"idle", &Phases::idle}}};

// Of all phases together. What a rank measured is its own mean step, exactly: `idle` is the rest,
// and communication_hidden is time of the same cores, taken out of backward.
[[nodiscard]] Seconds total(const Phases& phases);

struct BreakdownItem {
  std::string component;  // "fc1.forward", "all_reduce", "optimizer", ...
  std::string phase;
  Seconds seconds;
  Seconds hidden;
  std::string bound_by;  // compute | memory | dispatch | communication | input
  bool extrapolated = false;
};
struct MemoryItem {
  std::string name;  // parameters, gradients, momentum, activations, workspace, input
  Bytes bytes;
};
struct Limit {
  std::string resource;
  PerSecond samples_per_second;  // throughput were this the only limit
};
struct Sensitivity {
  std::string input;
  double elasticity = 0;  // d ln(step time) / d ln(input)
};

struct Prediction {
  WorkloadSummary workload;
  Plan plan;
  ReportRef machine;
  std::string tier = "analytic";
  Estimate<Seconds> step_time;
  Phases phases;
  std::vector<BreakdownItem> breakdown;
  std::vector<MemoryItem> memory;
  std::string binds;  // the limit that binds
  std::vector<Limit> limits;
  std::vector<Sensitivity> sensitivity;
  std::vector<std::string> extrapolated;
  std::vector<std::string> assumptions;
};

struct RankPhases {
  int rank = 0;
  std::string cpus;  // cpulist this rank was pinned to
  Phases phases;
};
struct Resumed {
  std::string path;       // of the checkpoint
  std::int64_t step = 0;  // the first one trained
};
struct Run {
  WorkloadSummary workload;
  Plan plan;
  std::int64_t steps = 0, warmup_steps = 0, epochs = 0, seed = 0;
  double learning_rate = 0, momentum = 0;
  std::string optimizer;
  std::optional<UpdateRule> update;
  std::optional<Resumed> resumed;
  std::string backend;                                 // library and version
  std::map<std::string, std::string> implementations;  // operator and direction -> kernel chosen
  std::vector<RankPhases> ranks;
  std::optional<ReportRef> prediction;  // written before this run started
  bool partial = false;
};

struct ValidationCell {
  Plan plan;
  ReportRef prediction;
  std::vector<ReportRef> runs;  // the blocks this cell was measured in
  Seconds predicted, predicted_low, predicted_high;
  Seconds measured, measured_low, measured_high;
  double error = 0;                 // (predicted - measured) / measured
  double corrected_error = 0;       // after dividing out the drift of the reference loops
  double drift_ratio = 1;           // reference loops: now / when probed
  std::optional<double> aa_spread;  // same run twice: |a - b| / mean, the floor of any error
  bool inside = false;              // measured lies in the predicted interval
  int attempts = 1;                 // blocks repeated because the reference loops moved
  Phases predicted_phases, measured_phases;
};
struct Validation {
  ReportRef machine;
  std::vector<ValidationCell> rows;
  std::string drift_rule;  // fixed in advance, the same for every cell
  std::string leakage;     // were fitted inputs taken from these runs? "none: ..." when not
  bool partial = false;
};

struct Comparison {
  std::vector<ReportRef> inputs;
};

using Subject = std::variant<MachineSubject, Prediction, Run, Validation, Comparison>;

struct Report {
  std::string id;       // uuid
  std::string created;  // RFC 3339, UTC
  Tool tool;
  Command command;
  Environment environment;
  Quality quality;
  Subject subject;
  std::vector<Metric> metrics;
  std::vector<Finding> findings;
};

[[nodiscard]] std::string kind_name(const Subject& subject);  // "machine", "prediction", ...

}  // namespace plimsoll
