// The reusable part of `plimsoll predict`: machine report in, prediction report out.

#include "tools/plimsoll/predicting.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/system/cpulist.hpp"
#include "models/fit/fit.hpp"
#include "models/memory/footprint.hpp"
#include "models/step.hpp"
#include "reports/report.hpp"
#include "reports/workload_file.hpp"
#include "tools/plimsoll/envelope.hpp"

namespace plimsoll::tools {
namespace {

models::Host host_of(const Report& report, const std::string& path) {
  const Environment& environment = report.environment;
  models::Host host{.name = path, .usable_cores = 0, .memory_capacity = Bytes(0)};
  if (!environment.usable_cpus.empty()) {
    try {
      host.usable_cores = sys::parse_cpulist(environment.usable_cpus, path).count();
    } catch (const Error& error) {  // of the file, not of the command line
      throw Error(error.problem(), error.where() + ", /environment/usable_cpus", error.fix());
    }
  }
  const std::int64_t limit = environment.memory_limit_bytes.value.value_or(0);
  const std::int64_t memory = environment.memory_bytes;
  host.memory_capacity = Bytes(static_cast<double>(limit > 0 ? std::min(limit, memory) : memory));
  return host;
}

// The units of what the model reads, by the end of the name.
constexpr std::pair<std::string_view, std::string_view> kUnits[] = {
    {".time", "s"}, {".load_latency", "s"}, {"bandwidth", "B/s"}, {".rate", "FLOP/s"}};

// A machine report that was edited or joined by hand: a number in another unit, or two numbers for
// one thing, must not become a prediction.
void check_metrics(const std::vector<Metric>& metrics, const std::string& path) {
  const std::string fix = "measure again with plimsoll probe, or correct the file";
  std::set<std::pair<std::string, Params>> seen;
  for (const Metric& metric : metrics) {
    for (const auto& [end, unit] : kUnits) {
      if (metric.name.ends_with(end) && metric.unit != unit) {
        throw Error("'" + metric.name + "' is in " +
                        (metric.unit.empty() ? "no unit" : "'" + metric.unit + "'") + ", not in " +
                        std::string(unit),
                    path, fix);
      }
    }
    if (!seen.emplace(metric.name, metric.params).second) {
      throw Error("'" + metric.name + "' stands there twice with the same parameters", path, fix);
    }
  }
}

// All ranks live on this one host.
void add_memory_finding(const Machine& machine, const Prediction& prediction, Report& report) {
  const Bytes need = models::total(prediction.memory) * prediction.plan.workers;
  if (machine.memory_capacity == Bytes(0) || need <= machine.memory_capacity) return;
  report.findings.push_back(
      {.id = "predict.does_not_fit",
       .severity = Severity::error,
       .message = "the plan needs " + std::to_string(need.value() / 1e9) + " GB, the machine has " +
                  std::to_string(machine.memory_capacity.value() / 1e9) + " GB",
       .effect = "training would run out of memory",
       .fix = "lower --batch, --prefetch or --workers"});
}

void add_extrapolation_finding(const Prediction& prediction, Report& report) {
  if (prediction.extrapolated.empty()) return;
  std::string names;
  for (const std::string& name : prediction.extrapolated) {
    names += (names.empty() ? "" : ", ") + name;
  }
  report.findings.push_back(
      {.id = "predict.extrapolated",
       .severity = Severity::warning,
       .message = "outside the measured range: " + names,
       .effect = "these times follow the trend beyond the last measurement",
       .fix = "measure a wider range: plimsoll probe kernel collective --full"});
}

}  // namespace

Report make_prediction(const std::string& machine_path, const Plan& plan,
                       const std::vector<std::string>& argv, const models::WhatIf& what_if) {
  const Workload workload = reports::resolve_workload(plan.workload).workload;
  const reports::StoredReport stored = reports::read_stored(machine_path);
  const Report& machine_report = stored.report;
  if (!std::holds_alternative<MachineSubject>(machine_report.subject)) {
    throw usage_error("a " + kind_name(machine_report.subject) + " report is not a machine report",
                      machine_path, "give the file that `plimsoll probe --out` wrote");
  }
  check_metrics(machine_report.metrics, machine_path);
  const Machine machine =
      models::fit(machine_report.metrics, host_of(machine_report, machine_path));
  Prediction prediction = models::predict(machine, workload, plan, what_if);
  prediction.machine = stored.reference;
  prediction.workload.graph_sha256 = reports::graph_sha256(workload.graph);
  std::vector<Metric> metrics = models::metrics_of(prediction, machine);
  Report report = envelope(prediction, argv);
  report.metrics = std::move(metrics);
  add_memory_finding(machine, prediction, report);
  add_extrapolation_finding(prediction, report);
  return report;
}

}  // namespace plimsoll::tools
