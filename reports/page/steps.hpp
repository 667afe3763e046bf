// Predicted steps beside measured steps: the rows that several questions share.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "reports/page/chart.hpp"

namespace plimsoll::reports {

struct StepSide {
  Seconds time, low, high;
  Phases phases;
};

struct ComparedStep {
  Plan plan;
  std::string label;  // of the plan; unique among the steps of a page
  std::optional<StepSide> predicted, measured;
  const ValidationCell* cell = nullptr;  // where a validation judged it
};

// The cells of the validations; without any, predictions joined with the runs that name them, and
// what is left over with one side only. Points into `reports`.
[[nodiscard]] std::vector<ComparedStep> compared_steps(const Reports& reports);

// Small before large: workloads in their order of appearance (`workloads`), then batch, workers,
// threads.
[[nodiscard]] bool before(const Plan& a, const Plan& b, const std::vector<std::string>& workloads);

// Labels in order; made unique by a number where two plans read the same.
[[nodiscard]] std::vector<std::string> unique_labels(std::vector<std::string> labels);

}  // namespace plimsoll::reports
