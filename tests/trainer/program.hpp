// Runs the real trainer binary on a job and reads what it leaves behind.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/system/process.hpp"
#include "reports/report.hpp"

namespace plimsoll::trainer::testing {

// A folder that goes with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A job of few steps on made-up data.
[[nodiscard]] reports::Job small_job(const std::string& workload = "mlp", int workers = 1);

struct ProgramRun {
  sys::ChildResult child;
  std::optional<Report> report;
  std::string report_text;
};
// `before` starts the trainer (taskset ...); `environment` is added to ours.
[[nodiscard]] ProgramRun run_trainer(reports::Job job, std::vector<std::string> before = {},
                                     std::map<std::string, std::string> environment = {});
// Sends the signal once the ranks train; nothing else of the group may be left when it has ended.
[[nodiscard]] ProgramRun interrupt_trainer(reports::Job job, int signal);

[[nodiscard]] const Metric& metric_of(const Report& report, const std::string& name);
[[nodiscard]] const Finding* finding_of(const Report& report, const std::string& id);
[[nodiscard]] std::string trainer_path();

}  // namespace plimsoll::trainer::testing
