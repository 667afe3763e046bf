// The tape as a graph.

#include "trainer/backend/imperative/trace.hpp"

#include <map>
#include <utility>

#include "core/error.hpp"

namespace plimsoll::trainer::imperative {
namespace {

class Tracer {
 public:
  explicit Tracer(const Tensor& input) {
    graph_.tensors.push_back(
        {.name = "input", .shape = input.shape(), .tokens = input.value().tokens != nullptr});
    tensors_[input.value().variable] = 0;
  }

  void add(const Node& node) {
    Op op{.name = *node.name,
          .attributes = node.recipe->op().attributes,
          .inputs = {tensor(node, node.input)},
          .output = static_cast<int>(graph_.tensors.size()),
          .parameters = {}};
    if (node.second_input >= 0) op.inputs.push_back(tensor(node, node.second_input));
    if (!tie(node, op)) {
      for (const Parameter* parameter : node.parameters) {
        if (owners_.contains(parameter->gradient.data)) shared_twice(*parameter, op);
        owners_[parameter->gradient.data] = {op.name,
                                             std::holds_alternative<Embedding>(op.attributes)};
        op.parameters.push_back({parameter->name, parameter->shape});
      }
    }
    for (const State& state : node.state) {
      op.state.push_back({state.name, {state.view.elements}});
    }
    for (const Op& other : graph_.ops) {
      if (other.name == op.name) {
        throw usage_error("two calls are named '" + op.name + "'", "trace of a model",
                          "give the second one a name, or parameters, of its own");
      }
    }
    graph_.tensors.push_back({.name = op.name, .shape = node.recipe->y_shape()});
    tensors_[node.output] = op.output;
    graph_.ops.push_back(std::move(op));
  }

  Graph take() && { return std::move(graph_); }

 private:
  struct Owner {
    std::string op;
    bool embedding = false;
  };

  [[nodiscard]] int tensor(const Node& node, int variable) const {
    const auto found = tensors_.find(variable);
    if (found != tensors_.end()) return found->second;
    throw usage_error("'" + *node.name + "' reads a tensor that was not made from the input",
                      "trace of a model", "make all tensors from the one input");
  }

  // A linear layer whose weight is an embedding's table.
  bool tie(const Node& node, Op& op) const {
    auto* const linear = std::get_if<Linear>(&op.attributes);
    if (linear == nullptr || linear->bias) return false;
    const auto owner = owners_.find(node.parameters.front()->gradient.data);
    if (owner == owners_.end() || !owner->second.embedding) return false;
    linear->tied_to = owner->second.op;
    return true;
  }

  [[noreturn]] void shared_twice(const Parameter& parameter, const Op& op) const {
    throw usage_error("'" + op.name + "' shares parameter '" + parameter.name + "' with '" +
                          owners_.at(parameter.gradient.data).op + "'",
                      "trace of a model",
                      "share nothing but an embedding's table, with linear layers without bias");
  }

  Graph graph_;
  std::map<int, int> tensors_;           // by variable
  std::map<const void*, Owner> owners_;  // of parameters, by where their gradient goes
};

}  // namespace

Graph trace(const Model& model, const Tensor& input) {
  const Tensor loss = model(input);
  Session& session = input.session();
  const auto tape = session.tape();
  if (tape.empty() || tape.back().output != loss.value().variable ||
      !std::holds_alternative<SoftmaxCrossEntropy>(tape.back().recipe->op().attributes)) {
    throw usage_error("the model's last call is not a loss", "trace of a model",
                      "end it with softmax_cross_entropy and return its result");
  }
  Tracer tracer(input);
  for (const Node& node : tape) tracer.add(node);
  loss.wait();
  return std::move(tracer).take();
}

}  // namespace plimsoll::trainer::imperative
