// Builds a graph in execution order, inferring and checking every shape.

#include <algorithm>
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

Op one_input(const std::string& name, OpAttributes attributes, int x) {
  return {.name = name,
          .attributes = std::move(attributes),
          .inputs = {x},
          .output = 0,
          .parameters = {},
          .state = {}};
}

}  // namespace

GraphBuilder::GraphBuilder(Shape input, bool tokens) {
  graph_.tensors.push_back({.name = "input", .shape = std::move(input), .tokens = tokens});
}

const Shape& GraphBuilder::shape_of(int tensor) const {
  expects(tensor >= 0 && static_cast<std::size_t>(tensor) < graph_.tensors.size(),
          "a graph's operators use tensors that exist");
  return graph_.tensors[static_cast<std::size_t>(tensor)].shape;
}

const Shape& GraphBuilder::numbers(const std::string& op, int tensor) const {
  const Shape& shape = shape_of(tensor);
  if (graph_.tensors[static_cast<std::size_t>(tensor)].tokens) {
    misfit(op, "takes numbers, not tokens (embed them first)", shape);
  }
  return shape;
}

int GraphBuilder::append(Op op, Shape output) {
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
  const Shape input = numbers(name, x);
  if (input.empty() || input.size() > 2) {
    misfit(name, "takes a vector or positions x features (flatten first)", input);
  }
  if (out_features < 1) misfit(name, "needs at least one output", input);
  Op op = one_input(name, Linear{input.back(), out_features, bias}, x);
  op.parameters.push_back({name + ".weight", {out_features, input.back()}});
  if (bias) op.parameters.push_back({name + ".bias", {out_features}});
  Shape output = input;
  output.back() = out_features;
  return append(std::move(op), std::move(output));
}

int GraphBuilder::tied_linear(const std::string& name, int x, const std::string& embedding) {
  const Shape input = numbers(name, x);
  for (const Op& op : graph_.ops) {
    const auto* const table = std::get_if<Embedding>(&op.attributes);
    if (op.name != embedding || table == nullptr) continue;
    if (input.empty() || input.size() > 2 || input.back() != table->features) {
      misfit(name,
             "takes the " + std::to_string(table->features) + " features of '" + embedding + "'",
             input);
    }
    Shape output = input;
    output.back() = table->vocabulary;
    return append(one_input(name, Linear{table->features, table->vocabulary, false, embedding}, x),
                  std::move(output));
  }
  misfit(name, "is tied to '" + embedding + "', which is no embedding before it", input);
}

int GraphBuilder::convolution(const std::string& name, int x, std::int64_t out_channels,
                              std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                              bool bias, std::int64_t groups) {
  const Shape input = numbers(name, x);
  if (input.size() != 3) misfit(name, "takes height x width x channels", input);
  if (out_channels < 1) misfit(name, "needs at least one output channel", input);
  if (groups < 1 || input[2] % groups != 0 || out_channels % groups != 0) {
    misfit(name,
           "has " + std::to_string(groups) + " groups, which do not divide " +
               std::to_string(input[2]) + " input and " + std::to_string(out_channels) +
               " output channels",
           input);
  }
  const std::int64_t height = windows(name, input, kernel, stride, padding, 0);
  const std::int64_t width = windows(name, input, kernel, stride, padding, 1);
  Op op = one_input(name,
                    Convolution{input[2], out_channels, kernel, stride, padding, bias, groups}, x);
  op.parameters.push_back({name + ".weight", {out_channels, kernel, kernel, input[2] / groups}});
  if (bias) op.parameters.push_back({name + ".bias", {out_channels}});
  return append(std::move(op), {height, width, out_channels});
}

int GraphBuilder::pool(const std::string& name, int x, Pool::Mode mode, std::int64_t kernel,
                       std::int64_t stride, std::int64_t padding) {
  const Shape input = numbers(name, x);
  if (input.size() != 3) misfit(name, "takes height x width x channels", input);
  if (padding >= kernel) misfit(name, "pads as much as its kernel or more", input);
  const std::int64_t height = windows(name, input, kernel, stride, padding, 0);
  const std::int64_t width = windows(name, input, kernel, stride, padding, 1);
  return append(one_input(name, Pool{mode, kernel, stride, padding}, x), {height, width, input[2]});
}

int GraphBuilder::batch_norm(const std::string& name, int x, double epsilon, double momentum) {
  const Shape input = numbers(name, x);
  if (input.empty()) misfit(name, "takes channels on the last side", input);
  if (!(epsilon > 0) || !(momentum >= 0 && momentum <= 1)) {
    misfit(name, "needs epsilon > 0 and a momentum from 0 to 1", input);
  }
  const Shape channels = {input.back()};
  Op op = one_input(name, BatchNorm{input.back(), epsilon, momentum}, x);
  op.parameters = {{name + ".weight", channels}, {name + ".bias", channels}};
  op.state = {{name + ".running_mean", channels}, {name + ".running_variance", channels}};
  return append(std::move(op), input);
}

int GraphBuilder::layer_norm(const std::string& name, int x, double epsilon) {
  const Shape input = numbers(name, x);
  if (input.empty()) misfit(name, "takes features on the last side", input);
  if (!(epsilon > 0)) misfit(name, "needs epsilon > 0", input);
  Op op = one_input(name, LayerNorm{input.back(), epsilon}, x);
  op.parameters = {{name + ".weight", {input.back()}}, {name + ".bias", {input.back()}}};
  return append(std::move(op), input);
}

int GraphBuilder::relu(const std::string& name, int x) {
  return append(one_input(name, Relu{}, x), numbers(name, x));
}

int GraphBuilder::gelu(const std::string& name, int x, Gelu::Form form) {
  return append(one_input(name, Gelu{form}, x), numbers(name, x));
}

int GraphBuilder::add(const std::string& name, int left, int right) {
  const Shape shape = numbers(name, left);
  const Shape other = numbers(name, right);
  if (shape != other) misfit(name, "adds " + text(other) + " to another shape", shape);
  Op op = one_input(name, Add{}, left);
  op.inputs.push_back(right);
  return append(std::move(op), shape);
}

int GraphBuilder::embedding(const std::string& name, int tokens, std::int64_t vocabulary,
                            std::int64_t features, bool positions) {
  const Shape input = shape_of(tokens);
  if (!graph_.tensors[static_cast<std::size_t>(tokens)].tokens || input.size() != 1) {
    misfit(name, "takes a graph's input of tokens, one a position", input);
  }
  if (vocabulary < 1 || features < 1) misfit(name, "needs a vocabulary and features", input);
  Op op = one_input(name, Embedding{vocabulary, features, positions}, tokens);
  op.parameters.push_back({name + ".weight", {vocabulary, features}});
  if (positions) op.parameters.push_back({name + ".positions", {input[0], features}});
  return append(std::move(op), {input[0], features});
}

int GraphBuilder::attention(const std::string& name, int qkv, std::int64_t heads, bool causal) {
  const Shape input = numbers(name, qkv);
  if (input.size() != 2 || heads < 1 || input[1] % (3 * heads) != 0) {
    misfit(name,
           "takes positions x 3 features, features divided by " + std::to_string(heads) + " heads",
           input);
  }
  return append(one_input(name, Attention{heads, causal}, qkv), {input[0], input[1] / 3});
}

int GraphBuilder::dropout(const std::string& name, int x, double rate) {
  const Shape input = numbers(name, x);
  if (!(rate >= 0 && rate < 1)) misfit(name, "needs a rate from 0 to below 1", input);
  return append(one_input(name, Dropout{rate}, x), input);
}

int GraphBuilder::reshape(const std::string& name, int x, Shape shape) {
  const Shape input = numbers(name, x);
  if (elements(shape) != elements(input)) {
    misfit(name, "makes " + text(shape) + ", another number of elements", input);
  }
  return append(one_input(name, Reshape{shape}, x), shape);
}

int GraphBuilder::flatten(const std::string& name, int x) {
  return reshape(name, x, {elements(shape_of(x))});
}

int GraphBuilder::softmax_cross_entropy(const std::string& name, int x) {
  const Shape input = numbers(name, x);
  if (input.empty() || input.size() > 2) {
    misfit(name, "takes class scores, or positions x class scores", input);
  }
  return append(one_input(name, SoftmaxCrossEntropy{input.back()}, x), {});
}

Graph GraphBuilder::build() && {
  expects(!graph_.ops.empty(), "a graph has at least one operator");
  const Op& last = graph_.ops.back();
  for (const Op& op : graph_.ops) {
    const bool read = std::ranges::any_of(graph_.ops, [&](const Op& other) {
      return std::ranges::count(other.inputs, op.output) > 0;
    });
    if (!read && &op != &last) {
      throw usage_error("nothing reads the output of operator '" + op.name + "'", "workload graph",
                        "use it, or leave the operator out");
    }
  }
  return std::move(graph_);
}

}  // namespace plimsoll
