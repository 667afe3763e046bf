// Parameter, FLOP and byte counts of operators, from their shapes.

#include "core/workload.hpp"

#include <limits>
#include <string>

#include "core/error.hpp"

namespace plimsoll {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

// What an operator moves and computes for a batch, before a direction is chosen. Doubles hold every
// count exactly up to 2^53 and cannot wrap beyond it.
struct Footprint {
  double x = 0, y = 0, weight = 0, bias = 0;  // elements
  double multiply_adds = 0;                   // of one matmul-like direction
};

Footprint footprint(const Graph& graph, const Op& op, std::int64_t batch) {
  const auto tensor = [&](int id) {
    return static_cast<double>(batch) *
           static_cast<double>(elements(graph.tensors[static_cast<std::size_t>(id)].shape));
  };
  Footprint f{.x = tensor(op.inputs.front()), .y = tensor(op.output)};
  if (!op.parameters.empty()) f.weight = static_cast<double>(elements(op.parameters[0].shape));
  if (op.parameters.size() > 1) f.bias = static_cast<double>(elements(op.parameters[1].shape));
  if (const auto* linear = std::get_if<Linear>(&op.attributes)) {
    f.multiply_adds = f.y * static_cast<double>(linear->in_features);
  } else if (const auto* conv = std::get_if<Convolution>(&op.attributes)) {
    f.multiply_adds = f.y * static_cast<double>(conv->kernel * conv->kernel * conv->in_channels);
  }
  return f;
}

Cost matmul_like(const Footprint& f, Direction direction, double element_bytes) {
  const double bytes = element_bytes * (f.x + f.y + f.weight);
  const double flop = 2.0 * f.multiply_adds;
  switch (direction) {
    case Direction::forward:  // the bias is one addition an output
      return {Flop(flop + (f.bias > 0 ? f.y : 0)), Bytes(bytes + element_bytes * f.bias)};
    case Direction::backward_data:
      return {Flop(flop), Bytes(bytes)};
    case Direction::backward_weights:
      return {Flop(flop + (f.bias > 0 ? f.y : 0)), Bytes(bytes + element_bytes * f.bias)};
  }
  return {};
}

// A square window visits every output once per window element.
Cost pooling(const Pool& pool, const Footprint& f, Direction direction, double element_bytes) {
  if (direction == Direction::backward_weights) return {};
  const double window = static_cast<double>(pool.kernel * pool.kernel);
  return {Flop(f.y * window), Bytes(element_bytes * (f.x + f.y))};
}

// Forward: maximum, subtraction, exponential, sum and logarithm: 5 an element. Backward: one
// subtraction and one scaling an element. Labels are 4 bytes a row.
Cost loss(const SoftmaxCrossEntropy& op, const Footprint& f, Direction direction,
          double element_bytes) {
  const double rows = f.x / static_cast<double>(op.classes);
  switch (direction) {
    case Direction::forward:
      return {Flop(5 * f.x), Bytes(element_bytes * (f.x + f.y) + 4 * rows)};
    case Direction::backward_data:
      return {Flop(2 * f.x), Bytes(element_bytes * 2 * f.x + 4 * rows)};
    case Direction::backward_weights:
      return {};
  }
  return {};
}

}  // namespace

std::int64_t size_of(DType dtype) { return dtype == DType::bf16 ? 2 : 4; }

std::string to_string(DType dtype) { return dtype == DType::bf16 ? "bf16" : "f32"; }

DType dtype_from(const std::string& text) {
  if (text == "f32") return DType::f32;
  if (text == "bf16") return DType::bf16;
  throw usage_error("unknown data type '" + text + "'", "--dtype", "use f32 or bf16");
}

std::int64_t elements(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t side : shape) {
    expects(side >= 0, "a shape has no negative side");
    if (side != 0 && count > std::numeric_limits<std::int64_t>::max() / side) {
      throw usage_error("a tensor has more than 2^63 elements", "workload graph",
                        "make its sides smaller");
    }
    count *= side;
  }
  return count;
}

std::string to_string(Direction direction) {
  switch (direction) {
    case Direction::forward:
      return "forward";
    case Direction::backward_data:
      return "backward_data";
    case Direction::backward_weights:
      return "backward_weights";
  }
  return {};
}

std::string kind_of(const Op& op) {
  return std::visit(Overloaded{
                        [](const Linear&) { return "linear"; },
                        [](const Convolution&) { return "convolution"; },
                        [](const Pool& pool) {
                          return pool.mode == Pool::Mode::max ? "max_pool" : "average_pool";
                        },
                        [](const Relu&) { return "relu"; },
                        [](const Reshape&) { return "reshape"; },
                        [](const SoftmaxCrossEntropy&) { return "softmax_cross_entropy"; },
                    },
                    op.attributes);
}

Cost cost_of(const Graph& graph, const Op& op, Direction direction, std::int64_t batch,
             DType dtype) {
  expects(batch >= 1, "cost_of: the batch has at least one sample");
  const Footprint f = footprint(graph, op, batch);
  const double e = static_cast<double>(size_of(dtype));
  return std::visit(Overloaded{
                        [&](const Linear&) { return matmul_like(f, direction, e); },
                        [&](const Convolution&) { return matmul_like(f, direction, e); },
                        [&](const Pool& pool) { return pooling(pool, f, direction, e); },
                        [&](const Relu&) -> Cost {
                          if (direction == Direction::backward_weights) return {};
                          const double streams =
                              direction == Direction::forward ? 2 : 3;  // x, y | x, dy, dx
                          return {Flop(f.x), Bytes(e * streams * f.x)};
                        },
                        [](const Reshape&) -> Cost { return {}; },
                        [&](const SoftmaxCrossEntropy& op_) { return loss(op_, f, direction, e); },
                    },
                    op.attributes);
}

bool needs_input_gradient(const Graph& graph, const Op& op) {
  // The network's input has no gradient, nor has anything that only reshapes it.
  int tensor = op.inputs.front();
  while (tensor != graph.input) {
    const Op* producer = nullptr;
    for (const Op& other : graph.ops) {
      if (other.output == tensor) producer = &other;
    }
    expects(producer != nullptr, "every tensor but the input has a producer");
    if (!std::holds_alternative<Reshape>(producer->attributes)) return true;
    tensor = producer->inputs.front();
  }
  return false;
}

std::int64_t parameter_count(const Graph& graph) {
  std::int64_t count = 0;
  for (const Op& op : graph.ops) {
    for (const Parameter& parameter : op.parameters) count += elements(parameter.shape);
  }
  return count;
}

}  // namespace plimsoll
