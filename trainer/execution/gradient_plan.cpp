// Walks a graph backward and decides who writes, who adds and who shares.

#include "trainer/execution/gradient_plan.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace plimsoll::trainer {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Planner {
 public:
  explicit Planner(const Graph& graph) : graph_(graph), written_(graph.tensors.size()) {
    plan_.home.assign(graph.tensors.size(), -1);
    readers_.resize(graph.tensors.size());
    producer_.assign(graph.tensors.size(), -1);
    for (int i = 0; i < static_cast<int>(graph.ops.size()); ++i) {
      producer_[at(graph.ops[at(i)].output)] = i;
      for (const int input : graph.ops[at(i)].inputs) readers_[at(input)].push_back(i);
    }
  }

  GradientPlan plan() && {
    for (int i = static_cast<int>(graph_.ops.size()) - 1; i >= 0; --i) backward(i);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool wanted(int tensor) const { return gradient_contributions(graph_, tensor) > 0; }

  void backward(int i) {
    const Op& op = graph_.ops[at(i)];
    if (std::holds_alternative<Add>(op.attributes)) return hand_on(op, op.inputs);
    if (std::holds_alternative<Reshape>(op.attributes)) return hand_on(op, op.inputs);
    if (computes(graph_, op, Direction::backward_weights)) {
      plan_.actions.push_back({.kind = BackwardAction::Kind::weights, .op = i});
    }
    const bool data = computes(graph_, op, Direction::backward_data);
    const bool weights_first = !data || computes(graph_, op, Direction::backward_weights);
    if (!op.parameters.empty() && weights_first) ready(i);
    if (data) write_data(i, op.inputs.front());
    if (!op.parameters.empty() && !weights_first) ready(i);  // a norm: one pass for both
  }

  void ready(int i) { plan_.actions.push_back({.kind = BackwardAction::Kind::ready, .op = i}); }

  void write_data(int i, int x) {
    if (!wanted(x)) {  // a norm of the network's input: for its parameters only
      plan_.actions.push_back({.kind = BackwardAction::Kind::data, .op = i});
    } else if (!written_[at(x)]) {
      written_[at(x)] = true;
      plan_.home[at(x)] = x;
      plan_.actions.push_back({.kind = BackwardAction::Kind::data, .op = i, .tensor = x});
    } else {
      plan_.actions.push_back({.kind = BackwardAction::Kind::data_extra, .op = i, .tensor = x});
      const int before = plan_.largest_scratch;
      if (before < 0 ||
          elements(graph_.tensors[at(x)].shape) > elements(graph_.tensors[at(before)].shape)) {
        plan_.largest_scratch = x;
      }
    }
  }

  // Both inputs of an addition, and the one of a reshape, get the gradient of the output.
  void hand_on(const Op& op, std::vector<int> inputs) {
    std::sort(inputs.begin(), inputs.end());
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const int x = inputs[k];
      if (!wanted(x)) continue;
      const BackwardAction::Kind add = BackwardAction::Kind::add;
      if (written_[at(x)]) {
        plan_.actions.push_back({.kind = add, .tensor = x, .from = op.output});
        continue;
      }
      written_[at(x)] = true;
      const int other = inputs.size() > 1 ? inputs[1 - k] : -1;
      const bool twice = other == x;  // x + x
      if (!twice && may_share(x, op) && (other < 0 || may_share_beside(x, other, op))) {
        plan_.home[at(x)] = plan_.home[at(op.output)];
      } else {
        plan_.home[at(x)] = x;
        plan_.actions.push_back(
            {.kind = BackwardAction::Kind::copy, .tensor = x, .from = op.output});
      }
    }
  }

  // The readers of x that come after `op` in backward order add to its gradient later.
  [[nodiscard]] int first_addition(int x, const Op& op) const {
    int first = -1;
    for (const int reader : readers_[at(x)]) {
      if (&graph_.ops[at(reader)] != &op && reader < producer_[at(op.output)]) {
        first = std::max(first, reader);
      }
    }
    return first;  // operators run from high to low: the highest is next
  }

  // The last operator (the lowest) whose backward reads the gradient of this tensor.
  [[nodiscard]] int last_reading(int tensor) const {
    const int producer = producer_[at(tensor)];
    if (producer < 0) return -1;
    const Op& op = graph_.ops[at(producer)];
    int last = producer;
    if (std::holds_alternative<Add>(op.attributes) ||
        std::holds_alternative<Reshape>(op.attributes)) {
      for (const int input : op.inputs) {
        if (wanted(input)) last = std::min(last, last_reading(input));
      }
    }
    return last;
  }

  // Whoever else lives in the memory of the output's gradient must not see additions to x's.
  [[nodiscard]] bool may_share(int x, const Op& op) const {
    const int addition = first_addition(x, op);
    if (addition < 0) return true;
    const int home = plan_.home[at(op.output)];
    for (int t = 0; t < static_cast<int>(plan_.home.size()); ++t) {
      if (t == op.output || t == x || plan_.home[at(t)] != home) continue;
      if (last_reading(t) <= addition) return false;
    }
    return true;
  }

  [[nodiscard]] bool may_share_beside(int x, int other, const Op& op) const {
    if (!wanted(other)) return true;
    const int mine = first_addition(x, op), its = first_addition(other, op);
    // What is added to one must come after the last reading of the other.
    return (mine < 0 || last_reading(other) > mine) && (its < 0 || last_reading(x) > its);
  }

  const Graph& graph_;
  std::vector<bool> written_;
  std::vector<std::vector<int>> readers_;  // by tensor
  std::vector<int> producer_;              // by tensor, -1: the input
  GradientPlan plan_;
};

}  // namespace

GradientPlan plan_gradients(const Graph& graph) { return Planner(graph).plan(); }

}  // namespace plimsoll::trainer
