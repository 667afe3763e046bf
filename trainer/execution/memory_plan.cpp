// Lives of tensors, and a place for each.

#include "trainer/execution/memory_plan.hpp"

#include <algorithm>
#include <numeric>

namespace plimsoll::trainer {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t whole_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Which values backward looks at again.
bool reads_x(const Op& op, Direction direction) {
  const OpAttributes& a = op.attributes;
  if (direction == Direction::backward_weights) {
    return std::holds_alternative<Linear>(a) || std::holds_alternative<Convolution>(a);
  }
  return std::holds_alternative<BatchNorm>(a) || std::holds_alternative<LayerNorm>(a) ||
         std::holds_alternative<Gelu>(a) || std::holds_alternative<Attention>(a) ||
         std::holds_alternative<SoftmaxCrossEntropy>(a);
}

bool reads_y(const Op& op) { return std::holds_alternative<Relu>(op.attributes); }

class Lifetimes {
 public:
  Lifetimes(const Graph& graph, const Fusion& fusion, const GradientPlan& plan)
      : graph_(graph), fusion_(fusion), plan_(plan) {
    const std::size_t count = graph.tensors.size();
    lives_.value.resize(count);
    lives_.gradient.resize(count);
    lives_.value_home.assign(count, -1);
  }

  Lives find() && {
    values();
    const int forward = static_cast<int>(graph_.ops.size());
    for (std::size_t j = 0; j < plan_.actions.size(); ++j) {
      backward(plan_.actions[j], forward + static_cast<int>(j));
    }
    return std::move(lives_);
  }

 private:
  void values() {
    const int forward = static_cast<int>(graph_.ops.size());
    for (int i = 0; i < forward; ++i) {
      const Op& op = graph_.ops[at(i)];
      const int fused = fusion_.relu_of[at(i)];
      int& home = lives_.value_home[at(op.output)];
      if (std::holds_alternative<Reshape>(op.attributes)) {
        home = lives_.value_home[at(op.inputs.front())];
      } else if (fusion_.computed_by[at(i)] >= 0) {
        home = op.output;  // made by the operator before it
      } else {
        home = fused >= 0 ? graph_.ops[at(fused)].output : op.output;
      }
      for (const int input : op.inputs) value_used(input, i);
      value_used(op.output, i);
    }
    value_used(graph_.ops.back().output, forward);  // the losses are summed up after forward
  }

  void value_used(int tensor, int time) {
    const int home = lives_.value_home[at(tensor)];
    if (home >= 0) extend(lives_.value[at(home)], time);
  }

  void gradient_used(int tensor, int time) {
    if (tensor >= 0 && plan_.home[at(tensor)] >= 0) {
      extend(lives_.gradient[at(plan_.home[at(tensor)])], time);
    }
  }

  void backward(const BackwardAction& action, int time) {
    using Kind = BackwardAction::Kind;
    if (action.kind == Kind::ready) return;
    gradient_used(action.tensor, time);
    gradient_used(action.from, time);
    if (action.kind == Kind::add || action.kind == Kind::copy) return;
    const Op& op = graph_.ops[at(action.op)];
    gradient_used(op.output, time);
    const auto direction =
        action.kind == Kind::weights ? Direction::backward_weights : Direction::backward_data;
    if (reads_x(op, direction)) value_used(op.inputs.front(), time);
    if (reads_y(op)) value_used(op.output, time);
  }

  static void extend(Life& life, int time) {
    if (life.last < life.first) {
      life = {time, time};
    } else {
      life.first = std::min(life.first, time);
      life.last = std::max(life.last, time);
    }
  }

  const Graph& graph_;
  const Fusion& fusion_;
  const GradientPlan& plan_;
  Lives lives_;
};

}  // namespace

Lives lives_of(const Graph& graph, const Fusion& fusion, const GradientPlan& plan) {
  return Lifetimes(graph, fusion, plan).find();
}

Placement place_apart(const std::vector<Piece>& pieces) {
  Placement result;
  for (const Piece& piece : pieces) {
    result.offset.push_back(result.bytes);
    result.bytes += whole_lines(piece.bytes);
  }
  return result;
}

Placement place_by_life(const std::vector<Piece>& pieces) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pieces[a].bytes > pieces[b].bytes; });
  Placement result;
  result.offset.assign(pieces.size(), 0);
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t i : order) {
    std::int64_t offset = 0;
    for (const std::size_t other : placed) {
      if (!overlap(pieces[i].life, pieces[other].life)) continue;
      if (result.offset[other] - offset >= whole_lines(pieces[i].bytes)) break;
      offset = std::max(offset, result.offset[other] + whole_lines(pieces[other].bytes));
    }
    result.offset[i] = offset;
    result.bytes = std::max(result.bytes, offset + whole_lines(pieces[i].bytes));
    const auto behind = std::find_if(placed.begin(), placed.end(), [&](std::size_t other) {
      return result.offset[other] > offset;
    });
    placed.insert(behind, i);
  }
  return result;
}

}  // namespace plimsoll::trainer
