// Builds a graph in execution order, inferring and checking every shape.

#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/workload.hpp"

namespace plimsoll {
namespace {

std::string text(const Shape& shape) {
  std::string joined;
  for (const std::int64_t side : shape) {
    joined += (joined.empty() ? "" : "x") + std::to_string(side);
  }
  return "[" + joined + "]";
}

[[noreturn]] void misfit(const std::string& op, const std::string& why, const Shape& input) {
  throw usage_error("operator '" + op + "' " + why + "; its input is " + text(input),
                    "workload graph", "correct the operator's attributes or what feeds it");
}

// Output side of a window that moves over `side` elements.
std::int64_t windows(const std::string& op, const Shape& input, std::int64_t kernel,
                     std::int64_t stride, std::int64_t padding, std::size_t axis) {
  if (kernel < 1 || stride < 1 || padding < 0) {
    misfit(op, "needs kernel >= 1, stride >= 1 and padding >= 0", input);
  }
  const std::int64_t room = input[axis] + 2 * padding - kernel;
  if (room < 0) misfit(op, "has a kernel larger than its padded input", input);
  return room / stride + 1;
}

}  // namespace

GraphBuilder::GraphBuilder(Shape input) {
  graph_.tensors.push_back({.name = "input", .shape = std::move(input)});
}

const Shape& GraphBuilder::shape_of(int tensor) const {
  expects(tensor >= 0 && static_cast<std::size_t>(tensor) < graph_.tensors.size(),
          "a graph's operators use tensors that exist");
  return graph_.tensors[static_cast<std::size_t>(tensor)].shape;
}

int GraphBuilder::add(Op op, Shape output) {
  const int id = static_cast<int>(graph_.tensors.size());
  for (const Op& other : graph_.ops) {
    if (other.name == op.name) {
      throw usage_error("two operators are named '" + op.name + "'", "workload graph",
                        "give every operator its own name");
    }
  }
  op.output = id;
  graph_.tensors.push_back({.name = op.name, .shape = std::move(output)});
  graph_.ops.push_back(std::move(op));
  return id;
}

int GraphBuilder::linear(const std::string& name, int x, std::int64_t out_features, bool bias) {
  const Shape input = shape_of(x);
  if (input.size() != 1) misfit(name, "takes a vector (flatten first)", input);
  if (out_features < 1) misfit(name, "needs at least one output", input);
  Op op{.name = name,
        .attributes = Linear{input[0], out_features, bias},
        .inputs = {x},
        .output = 0,
        .parameters = {{name + ".weight", {out_features, input[0]}}}};
  if (bias) op.parameters.push_back({name + ".bias", {out_features}});
  return add(std::move(op), {out_features});
}

int GraphBuilder::convolution(const std::string& name, int x, std::int64_t out_channels,
                              std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                              bool bias) {
  const Shape input = shape_of(x);
  if (input.size() != 3) misfit(name, "takes height x width x channels", input);
  if (out_channels < 1) misfit(name, "needs at least one output channel", input);
  const std::int64_t height = windows(name, input, kernel, stride, padding, 0);
  const std::int64_t width = windows(name, input, kernel, stride, padding, 1);
  Op op{.name = name,
        .attributes = Convolution{input[2], out_channels, kernel, stride, padding, bias},
        .inputs = {x},
        .output = 0,
        .parameters = {{name + ".weight", {out_channels, kernel, kernel, input[2]}}}};
  if (bias) op.parameters.push_back({name + ".bias", {out_channels}});
  return add(std::move(op), {height, width, out_channels});
}

int GraphBuilder::pool(const std::string& name, int x, Pool::Mode mode, std::int64_t kernel,
                       std::int64_t stride) {
  const Shape input = shape_of(x);
  if (input.size() != 3) misfit(name, "takes height x width x channels", input);
  const std::int64_t height = windows(name, input, kernel, stride, 0, 0);
  const std::int64_t width = windows(name, input, kernel, stride, 0, 1);
  return add({.name = name,
              .attributes = Pool{mode, kernel, stride},
              .inputs = {x},
              .output = 0,
              .parameters = {}},
             {height, width, input[2]});
}

int GraphBuilder::relu(const std::string& name, int x) {
  return add({.name = name, .attributes = Relu{}, .inputs = {x}, .output = 0, .parameters = {}},
             shape_of(x));
}

int GraphBuilder::flatten(const std::string& name, int x) {
  return add({.name = name, .attributes = Reshape{}, .inputs = {x}, .output = 0, .parameters = {}},
             {elements(shape_of(x))});
}

int GraphBuilder::softmax_cross_entropy(const std::string& name, int x) {
  const Shape input = shape_of(x);
  if (input.size() != 1) misfit(name, "takes a vector of class scores", input);
  return add({.name = name,
              .attributes = SoftmaxCrossEntropy{input[0]},
              .inputs = {x},
              .output = 0,
              .parameters = {}},
             {});
}

Graph GraphBuilder::build() && {
  expects(!graph_.ops.empty(), "a graph has at least one operator");
  return std::move(graph_);
}

}  // namespace plimsoll
