// The probe harness: what a probe file states about itself, and what it must be able to do.
//
// A probe is one binary that answers one question. It lists its cases; the harness runs them
// through Google Benchmark in shuffled rounds (so that a machine that drifts, drifts for all cases
// alike), one sample a case and round, until the stopping rule of core/stopping.hpp is content; it
// verifies every answer outside the timed region, checks the plausible range, and writes our
// report.

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/record.hpp"
#include "core/units.hpp"

namespace plimsoll::probes {

// One metric that a probe reports. Unit "s": value = seconds / work. A rate ("B/s", "FLOP/s",
// "1/s"): value = work / seconds. Outside [at_least, at_most] the number is kept, marked
// implausible.
struct MetricInfo {
  std::string_view name;  // "memory.load_latency", "kernel.matmul.rate"
  std::string_view unit;
  std::string_view meaning;  // one sentence for `plimsoll explain`
  double at_least, at_most;
  Estimator estimator = Estimator::median;
};

struct ProbeInfo {
  std::string_view id;  // "kernel.matmul": suite.name
  std::string_view question;
  std::string_view method;
  std::vector<MetricInfo> metrics;
  // Whether --size means something to this probe: then ProbeOptions::sizes replaces its own ones.
  bool takes_sizes = false;
  // Name and version of the libraries that do the work, for the report; nothing: only the
  // harness's.
  std::map<std::string, std::string> (*libraries)() = nullptr;
  // Draws conclusions from the finished report: findings, ceilings, derived metrics.
  void (*conclude)(Report& report) = nullptr;
};

// What one case measures, made just before its first sample and destroyed after its last.
class Subject {
 public:
  virtual ~Subject() = default;
  // Does the operation `operations` times and returns the time that took; set-up is not timed.
  virtual Seconds run(std::int64_t operations) = 0;
  // What one operation is worth: bytes, FLOP, loads, round trips.
  [[nodiscard]] virtual double work() const = 0;
  // Called before the first and after the last sample, untimed: what is wrong with the answer, or
  // nothing. A wrong answer means status failed and no number. run() was called before the first
  // verify() (calibration), so there is an answer; verify() may call run() itself.
  [[nodiscard]] virtual std::optional<std::string> verify() = 0;
  // Extra derived figures of the samples: percentiles of single operations and the like.
  [[nodiscard]] virtual std::map<std::string, double> summary() const { return {}; }
  // Library and kernel that did the work, e.g. "oneDNN brgemm:avx512_core".
  [[nodiscard]] virtual std::string source() const { return {}; }
};

enum class Level { quick, standard, full };

struct ProbeOptions {
  Level level = Level::standard;
  std::vector<int> cpus;  // usable CPU ids, one of each core first; benchmarks pin to these
  int cores = 1;          // cpus[0 .. cores) are different cores, no more than the quota grants
  std::string directory;  // where storage probes may make their file
  std::vector<std::int64_t> sizes;  // working sets in bytes that the user asked for, or empty
};

// A sample is run(operations) once, `operations` chosen so that it takes some milliseconds (one at
// least). A time that is not finite and positive is dropped and counted; too many fail the case.
struct Case {
  std::size_t metric = 0;  // index into ProbeInfo::metrics
  Params params;
  // May throw Error: status failed with its text; or NotApplicable: skipped for its reason.
  std::function<std::unique_ptr<Subject>()> make;
  std::string skip;  // not empty: the case is skipped for this reason and never made
  // Cases of one group are interleaved and their subjects live at the same time; groups run one
  // after the other, so that large buffers do not add up.
  int group = 0;
  // Tighter than the metric's range, where this case knows better (cores x FLOP a cycle x clock).
  double at_most = std::numeric_limits<double>::infinity();
};

// Found out only while making the subject: this machine does not offer what the case asks for.
class NotApplicable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs `operation` that often between two reads of the steady clock.
template <class Operation>
Seconds timed(std::int64_t operations, Operation&& operation);

using CaseList = std::vector<Case> (*)(const ProbeOptions&);

// main() of a probe. Flags: --out FILE (our report; "-" is stdout), --level quick|default|full,
// --filter REGEX over "metric/key:value/...", --list, --describe, --size, --max-time SECONDS,
// --dir DIR, --seed N, and Google Benchmark's (probes/harness/options.cpp has the table).
// Exit codes as in core/error.hpp: 0 all ok; 1 nothing could run; 2 usage; 3 a check failed;
// 5 some cases could not run; 77 everything skipped; 130 interrupted, partial report written.
int run_probe(int argc, char** argv, const ProbeInfo& info, CaseList cases);

}  // namespace plimsoll::probes

#include "probes/timed.hpp"
