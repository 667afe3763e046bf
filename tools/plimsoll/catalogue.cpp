// Gathers the vocabulary: from the probe binaries, the doctor's checks, the workloads, and the
// table of vocabulary.cpp.

#include "tools/plimsoll/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/system/doctor.hpp"
#include "core/system/process.hpp"
#include "core/workloads/workloads.hpp"
#include "tools/plimsoll/probing.hpp"
#include "tools/plimsoll/programs.hpp"
#include "tools/plimsoll/vocabulary.hpp"

namespace plimsoll::tools {
namespace {

using reports::Entry;

reports::ProbeDescription ask(const std::string& id) {
  sys::ChildOptions child{.argv = {program("probes/plimsoll-probe-" + id), "--describe"}};
  child.capture_out = child.capture_err = true;
  child.timeout = Seconds(30);
  const sys::ChildResult result = sys::run_child(child);
  return reports::probe_description_from_json(result.out, "plimsoll-probe-" + id + " --describe");
}

std::string range_text(const reports::MetricDescription& metric) {
  if (!std::isfinite(metric.at_most)) return fmt::format("plausible from {:g}", metric.at_least);
  return fmt::format("plausible from {:g} to {:g} {}", metric.at_least, metric.at_most,
                     metric.unit);
}

void add_probes(std::vector<Entry>& all) {
  for (const std::string& id : known_probes()) {
    try {
      const reports::ProbeDescription probe = ask(id);
      all.push_back({.id = id,
                     .kind = "probe",
                     .unit = {},
                     .meaning = probe.question,
                     .formula = probe.method,
                     .source = "plimsoll probe " + id});
      for (const reports::MetricDescription& metric : probe.metrics) {
        all.push_back({.id = metric.name,
                       .kind = "metric",
                       .unit = metric.unit,
                       .meaning = metric.meaning,
                       .formula = (metric.unit == "s" ? "time / work; " : "work / time; ") +
                                  range_text(metric),
                       .source = "plimsoll probe " + id});
      }
    } catch (const Error& error) {
      all.push_back({.id = id,
                     .kind = "probe",
                     .unit = {},
                     .meaning = "cannot be asked: " + error.problem(),
                     .formula = {},
                     .source = error.where()});
    }
  }
}

bool similar(const std::string& a, const std::string& b) {
  return a.find(b) != std::string::npos || b.find(a) != std::string::npos;
}

}  // namespace

std::vector<Entry> catalogue() {
  std::vector<Entry> all;
  add_probes(all);
  for (const Word& word : vocabulary()) {
    all.push_back({.id = std::string(word.id),
                   .kind = std::string(word.kind),
                   .unit = std::string(word.unit),
                   .meaning = std::string(word.meaning),
                   .formula = std::string(word.formula),
                   .source = std::string(word.source)});
  }
  for (const sys::Check& check : sys::checks()) {
    all.push_back({.id = std::string(check.id),
                   .kind = "finding",
                   .unit = {},
                   .meaning = fmt::format("{} What it spoils: {}", check.question, check.effect),
                   .formula = {},
                   .source = "plimsoll doctor"});
  }
  for (const WorkloadEntry& entry : workloads()) {
    all.push_back({.id = entry.name,
                   .kind = "workload",
                   .unit = {},
                   .meaning = workload_named(entry.name).description,
                   .formula = {},
                   .source = "core/workloads"});
  }
  return all;
}

std::vector<Entry> entries_of(const std::vector<Entry>& all, const std::string& id) {
  std::vector<Entry> found;
  std::ranges::copy_if(all, std::back_inserter(found), [&](const Entry& e) { return e.id == id; });
  if (!found.empty()) return found;
  std::ranges::copy_if(all, std::back_inserter(found),
                       [&](const Entry& e) { return e.id.starts_with(id + "."); });
  if (!found.empty()) return found;
  std::string close;
  const std::string last = id.substr(id.rfind('.') + 1);
  for (const Entry& entry : all) {
    if (last.empty() || !similar(entry.id, last) || close.ends_with(entry.id)) continue;
    close += (close.empty() ? "" : ", ") + entry.id;
  }
  throw usage_error("nothing is called '" + id + "'", "plimsoll explain",
                    close.empty() ? "see all names with: plimsoll list" : "similar: " + close);
}

}  // namespace plimsoll::tools
