// What tests of training share: small runs through the same step loop as the program.

#pragma once

#include <string>
#include <vector>

#include "core/workloads/workloads.hpp"
#include "trainer/train.hpp"

namespace plimsoll::trainer::testing {

// A small network with every kind of operator, so that a sanitizer build is done in seconds.
[[nodiscard]] Workload tiny_workload();

[[nodiscard]] TrainOptions plain_sgd(const std::string& workload, std::int64_t batch, int workers,
                                     std::int64_t steps);

struct Outcome {
  TrainRecord record;
  std::vector<std::vector<float>> weights;  // of each rank, after the last step
};
// Trains and keeps the weights of all ranks; `hooks.after_step` runs as well.
[[nodiscard]] Outcome train_and_keep(const Workload& workload, const Data& data,
                                     const TrainOptions& options, const TrainHooks& hooks = {});

// max |a - b| / max |a|: relative to the largest weight, as weights near zero have no digits.
[[nodiscard]] double largest_difference(const std::vector<float>& a, const std::vector<float>& b);
[[nodiscard]] double largest_relative(const std::vector<double>& a, const std::vector<double>& b);

// What I01 demands of runs that differ in their number of workers only: the texts of what is
// broken, none when all is well. Tests feed it broken averaging to see that it notices.
[[nodiscard]] std::vector<std::string> disagreements(const Outcome& one, const Outcome& many);

// Fashion-MNIST where it is installed, else made-up samples of the same shape.
[[nodiscard]] Data real_or_synthetic(const Workload& workload, std::int64_t synthetic_count);

}  // namespace plimsoll::trainer::testing
