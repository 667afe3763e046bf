// The kernels of one step one by one, on memory of their own, after training: which operator was
// the first to make a number that is none, and how long each takes alone. It works for every way of
// execution, since it uses none: what a graph has fused is looked at operator by operator.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.hpp"
#include "core/workload.hpp"
#include "trainer/backend/backend.hpp"
#include "trainer/execution/executor.hpp"

namespace plimsoll::trainer {

// What the walk repeats: a batch that lies in a slot of an executor.
struct WalkedBatch {
  const Graph& graph;
  const Backend& backend;
  const FlatLayout& layout;
  Executor& executor;
  int slot = 0;
  std::int64_t batch = 0;
  StepState step;
  DType dtype = DType::f32;
  int threads = 1;
};

// "fc1 (forward)": the first operator whose output, or gradient, is not finite; nothing when all
// are. The weights have to be those of the step.
[[nodiscard]] std::optional<std::string> first_not_finite(const WalkedBatch& batch);

// The operator, in backward order, that left a parameter gradient that is not finite.
[[nodiscard]] std::optional<std::string> first_gradient_not_finite(
    const Graph& graph, const FlatLayout& layout, std::span<const float> gradients);

struct OperatorTime {
  std::string op, direction, kernel;
  Flop flop;
  std::vector<Seconds> samples;
};
// In order of a step; each pass runs all of them once, as a step does.
[[nodiscard]] std::vector<OperatorTime> time_operators(const WalkedBatch& batch, int passes);

}  // namespace plimsoll::trainer
