// Walks from every operator that can end in others to what reads its output.

#include "trainer/execution/fusion.hpp"

#include <algorithm>

namespace plimsoll::trainer {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Planner {
 public:
  Planner(const Graph& graph, const Backend& backend, std::int64_t batch, DType dtype, Mode mode)
      : graph_(graph), backend_(backend), batch_(batch), dtype_(dtype), mode_(mode) {
    const std::size_t ops = graph.ops.size();
    plan_ = {.into = std::vector<int>(ops, -1),
             .activation = std::vector<Activation>(ops, Activation::none),
             .residual = std::vector<int>(ops, -1),
             .writes = {}};
    producer_.assign(graph.tensors.size(), -1);
    readers_.resize(graph.tensors.size());
    for (int i = 0; i < static_cast<int>(ops); ++i) {
      plan_.writes.push_back(graph.ops[at(i)].output);
      producer_[at(graph.ops[at(i)].output)] = i;
      for (const int input : graph.ops[at(i)].inputs) readers_[at(input)].push_back(i);
    }
  }

  void fuse() {
    for (int i = 0; i < static_cast<int>(graph_.ops.size()); ++i) {
      if (plan_.into[at(i)] < 0) extend(i);
    }
  }
  Fusion take() && { return std::move(plan_); }

 private:
  void extend(int op) {
    while (readers_[at(plan_.writes[at(op)])].size() == 1) {
      const int reader = readers_[at(plan_.writes[at(op)])].front();
      if (plan_.into[at(reader)] >= 0 || !absorb(op, reader)) return;
      plan_.into[at(reader)] = op;
      plan_.writes[at(op)] = graph_.ops[at(reader)].output;
    }
  }

  bool absorb(int op, int reader) {
    if (plan_.activation[at(op)] != Activation::none) return false;  // the last thing it does
    const Op& next = graph_.ops[at(reader)];
    Epilogue wish{.activation = Activation::none, .residual = plan_.residual[at(op)] >= 0};
    if (std::holds_alternative<Relu>(next.attributes)) {
      wish.activation = Activation::relu;
    } else if (const auto* gelu = std::get_if<Gelu>(&next.attributes)) {
      if (mode_ == Mode::train || dtype_ != DType::f32) return false;
      wish.activation =
          gelu->form == Gelu::Form::tanh ? Activation::gelu_tanh : Activation::gelu_erf;
    } else if (std::holds_alternative<Add>(next.attributes)) {
      if (wish.residual || dtype_ != DType::f32) return false;
      const int mine = plan_.writes[at(op)];
      const int other = next.inputs[0] == mine ? next.inputs[1] : next.inputs[0];
      if (other == graph_.input || written_at(other) >= op) return false;
      wish.residual = true;
      if (!can(op, wish)) return false;
      plan_.residual[at(op)] = other;
      return true;
    } else {
      return false;
    }
    // Both gradients of a batch norm and its relu come from one kernel at the norm's place: nobody
    // may add to them in between.
    const bool norm = std::holds_alternative<BatchNorm>(graph_.ops[at(op)].attributes);
    if (norm && mode_ == Mode::train && reader != op + 1) return false;
    if (!can(op, wish)) return false;
    plan_.activation[at(op)] = wish.activation;
    return true;
  }

  [[nodiscard]] bool can(int op, const Epilogue& wish) const {
    return backend_.fuses(graph_, graph_.ops[at(op)], wish, batch_, dtype_, mode_);
  }

  // The operator at whose place in the order this tensor is written.
  [[nodiscard]] int written_at(int tensor) const {
    const int producer = producer_[at(tensor)];
    if (std::holds_alternative<Reshape>(graph_.ops[at(producer)].attributes)) {
      const int input = graph_.ops[at(producer)].inputs[0];
      return input == graph_.input ? -1 : written_at(input);
    }
    return plan_.into[at(producer)] < 0 ? producer : plan_.into[at(producer)];
  }

  const Graph& graph_;
  const Backend& backend_;
  const std::int64_t batch_;
  const DType dtype_;
  const Mode mode_;
  std::vector<int> producer_;  // by tensor, -1: the input
  std::vector<std::vector<int>> readers_;
  Fusion plan_;
};

}  // namespace

Fusion plan_fusion(const Graph& graph, const Backend& backend, std::int64_t batch, DType dtype,
                   Mode mode, bool wanted) {
  Planner planner(graph, backend, batch, dtype, mode);
  if (wanted) planner.fuse();
  return std::move(planner).take();
}

}  // namespace plimsoll::trainer
