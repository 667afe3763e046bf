// Where the gradient of every tensor lies and in which order backward fills it: the one place that
// knows about branches. A pure function of the graph.
//
// A tensor that several operators read gets a gradient from each of them. The first one (backward
// goes from the last operator to the first) writes it, the others write to a scratch place and are
// added. An addition operator computes nothing: its inputs take over its own gradient's memory
// wherever nobody would change it while another still reads it, and a copy of it elsewhere.

#pragma once

#include <vector>

#include "core/workload.hpp"

namespace plimsoll::trainer {

struct BackwardAction {
  enum class Kind {
    weights,     // kernel backward_weights of `op`
    data,        // kernel backward_data of `op`, dx to the gradient of its input
    data_extra,  // the same, dx to the scratch place, then added to that gradient
    add,         // gradient of `tensor` += gradient of `from`
    copy,        // gradient of `tensor` = gradient of `from`
    ready,       // all parameter gradients of `op` are final
  };
  Kind kind;
  int op = -1;
  int tensor = -1, from = -1;
};

struct GradientPlan {
  // By tensor: the tensor in whose memory its gradient lies (itself, or another one), -1: none.
  std::vector<int> home;
  std::vector<BackwardAction> actions;
  int largest_scratch = -1;  // the largest tensor that data_extra writes, -1: none
};

[[nodiscard]] GradientPlan plan_gradients(const Graph& graph);

}  // namespace plimsoll::trainer
