// Runs a real probe binary as a child, as `plimsoll probe` does, and reads its report.

#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/record.hpp"
#include "core/system/process.hpp"
#include "reports/report.hpp"
#include "tests/catch.hpp"

namespace plimsoll::probes {

// A folder of our own that goes with the object.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "probe-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::string path(const std::string& name = {}) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string probe_path(const std::string& id) {
  return std::string(PLIMSOLL_BUILD_DIR) + "/libexec/plimsoll/probes/plimsoll-probe-" + id;
}

struct ProbeRun {
  sys::ChildResult child;
  std::optional<Report> report;
  // The metrics of the probe itself, without the reference loops.
  std::vector<Metric> metrics;
};

// `before`: a program that starts the probe (strace ... , unshare ...).
inline ProbeRun run_probe_binary(const std::string& id, std::vector<std::string> arguments,
                                 std::vector<std::string> before = {}) {
  const Scratch scratch;
  sys::ChildOptions options;
  options.argv = std::move(before);
  options.argv.push_back(probe_path(id));
  options.argv.insert(options.argv.end(), {"--level", "quick", "--out", scratch.path("out.json")});
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.capture_out = options.capture_err = true;
  options.timeout = Seconds(120);
  ProbeRun run;
  run.child = sys::run_child(options);
  INFO(run.child.out << run.child.err);
  if (std::filesystem::exists(scratch.path("out.json"))) {
    run.report = reports::read_report(scratch.path("out.json"));
    for (const Metric& metric : run.report->metrics) {
      if (!metric.name.starts_with("reference.")) run.metrics.push_back(metric);
    }
  }
  return run;
}

}  // namespace plimsoll::probes
