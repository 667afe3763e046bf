// Where activations and their gradients lie in one stretch of memory: two that are never alive at
// the same time may share it. A pure function of the graph and of how its backward is planned.
//
// Time counts forward operators, then backward actions. A value lives from the operator that makes
// it to the last one that reads it, forward or backward; a gradient from the first action that
// writes it to the last that reads it.

#pragma once

#include <cstdint>
#include <vector>

#include "trainer/execution/gradient_plan.hpp"

namespace plimsoll::trainer {

struct Life {
  int first = 0, last = -1;  // both alive; last < first: never
};
[[nodiscard]] inline bool overlap(const Life& a, const Life& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Tensors by number: the value of a tensor lies where that of value_home does.
struct Lives {
  std::vector<int> value_home;        // -1: the network's input, elsewhere
  std::vector<Life> value, gradient;  // of those that are homes
};
[[nodiscard]] Lives lives_of(const Graph& graph, const Fusion& fusion, const GradientPlan& plan);

struct Piece {
  std::int64_t bytes = 0;
  Life life;
};
struct Placement {
  std::vector<std::int64_t> offset;  // by piece, whole cache lines
  std::int64_t bytes = 0;            // of all together
};
// Every piece for itself.
[[nodiscard]] Placement place_apart(const std::vector<Piece>& pieces);
// Largest first, each at the lowest place where nothing is that lives at the same time ("greedy by
// size", Pisarchyk and Lee: "Efficient memory management for deep neural net inference", 2020).
[[nodiscard]] Placement place_by_life(const std::vector<Piece>& pieces);

}  // namespace plimsoll::trainer
