// Metrics of a run beyond its times: what was learned, how much of the machine was used, operators.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "trainer/train.hpp"

namespace plimsoll::trainer {

// FLOP/s that the cores of a plan can reach, by a machine report; or why that is not known.
struct Peak {
  std::optional<FlopPerSecond> rate;
  std::string source;  // or the reason
};
// From cpu.flops.rate of the plan's data type: on as many cores as the plan takes, or else what one
// core reaches times their number.
[[nodiscard]] Peak peak_of(const Report& machine, const Plan& plan);

[[nodiscard]] Metric plain_metric(std::string name, std::string unit, Better better,
                                  std::string source);

// train.accuracy, train.test_loss and, of sequences, train.perplexity.
void add_evaluations(std::vector<Metric>& metrics, const TrainRecord& record, bool tokens);
// train.utilisation, from train.flop_rate among `metrics`.
void add_utilisation(std::vector<Metric>& metrics, const Peak& peak);
// train.operator.time and train.operator.flop_rate {operator, direction, kernel}.
void add_operators(std::vector<Metric>& metrics, const TrainRecord& record);

}  // namespace plimsoll::trainer
