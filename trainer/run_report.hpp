// A run as a report: metrics, quality and findings from what training recorded.

#pragma once

#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/system/reference_loops.hpp"
#include "reports/report.hpp"
#include "trainer/run_metrics.hpp"
#include "trainer/train.hpp"

namespace plimsoll::trainer {

// What was seen of the machine around the run.
struct Surroundings {
  std::vector<std::vector<sys::ReferenceTime>> references;  // before and after training
  std::optional<double> steal_ratio;                        // while it ran
  double load_before = 0;  // runnable threads per usable CPU when it started
  int usable_cpus = 1;
  std::vector<Finding> findings;  // met on the way
  Peak peak{.rate = {}, .source = "no machine report was given: --machine FILE"};
};

[[nodiscard]] Report run_report(const reports::Job& job, const Workload& workload,
                                const TrainOptions& options, const TrainRecord& record,
                                const Surroundings& surroundings);

}  // namespace plimsoll::trainer
