// Runs probe binaries one after the other as child processes and merges their reports into one
// machine report. A probe that fails, hangs or is missing is recorded; the others go on.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/record.hpp"
#include "core/system/doctor.hpp"
#include "core/units.hpp"

namespace plimsoll::tools {

struct ProbeRequest {
  std::vector<std::string> selection;  // suites and ids; empty: all
  std::string level = "default";       // quick | default | full
  std::string filter;                  // over case names; a leading '-' negates
  std::string sizes;                   // working sets, for the probes that take them
  std::string directory;               // where storage probes may make their file; empty: theirs
  std::optional<Seconds> max_time;     // of all probes together
  std::int64_t seed = 1;
  bool dry_run = false;  // nothing is measured: every probe is skipped with its estimated time
  std::vector<std::string> argv;  // the user's command, for the report
};

// Called when a probe starts, with its name ("memory.load_latency (3 of 13)") and the share done.
using ProbeProgress = std::function<void(const std::string& what, double share_done)>;

// The probes of this build, in the order in which they run.
[[nodiscard]] const std::vector<std::string>& known_probes();
// Error (usage) that lists the known suites and ids; not_applicable for a suite that this build has
// no probe of.
[[nodiscard]] std::vector<std::string> select_probes(const std::vector<std::string>& selection);

// `facts` of this machine become the report's environment and its first findings.
[[nodiscard]] Report run_probes(const ProbeRequest& request, const sys::Facts& facts,
                                const ProbeProgress& progress);

// The exit code that a report of run_probes() deserves.
[[nodiscard]] ExitCode exit_code_of(const Report& machine);

// The cases that the request would measure and how long that takes, for --dry-run.
[[nodiscard]] std::string probe_plan(const ProbeRequest& request);

// Appends the report of one probe to `machine`. Samples of the reference loops join those that are
// there; the quality is that of the worst,
// the libraries are those of all.
void merge_probe(Report& machine, const Report& probe);

}  // namespace plimsoll::tools
