// FLOP and byte counts of operators, from their shapes.
//
// FLOP: a multiply-add is 2; of element-wise formulas every written operation is 1, exponentials,
// logarithms, tanh and erf included. Linear 2mnk and convolution 2NKCRSPQ per direction are the
// textbook counts. Attention counts the scores that are computed: whole matrices up to
// kAttentionRows positions, as the field's model-FLOP utilisation does (Chowdhery and others,
// "PaLM", 2022, appendix B), towards half of them for a long causal sequence.

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "core/workload.hpp"

namespace plimsoll {
namespace {

constexpr double kF32 = 4;  // bytes of what is f32 whatever the run's type: sums, losses, gradients

// What an operator moves and computes for a batch, before a direction is chosen. Doubles hold every
// count exactly up to 2^53 and cannot wrap beyond it.
struct Operand {
  double x = 0, y = 0, weight = 0, bias = 0;  // elements
  double batch = 0;
  double e = 4;  // bytes of an element of the run's type
  Direction direction;
};

const Shape& shape_of(const Graph& graph, int tensor) {
  return graph.tensors[static_cast<std::size_t>(tensor)].shape;
}

Operand operand(const Graph& graph, const Op& op, Direction direction, std::int64_t batch,
                DType dtype) {
  const auto count = [&](int tensor) {
    return static_cast<double>(batch) * static_cast<double>(elements(shape_of(graph, tensor)));
  };
  Operand f{.x = count(op.inputs.front()),
            .y = count(op.output),
            .batch = static_cast<double>(batch),
            .e = static_cast<double>(size_of(dtype)),
            .direction = direction};
  if (!op.parameters.empty()) f.weight = static_cast<double>(elements(op.parameters[0].shape));
  if (op.parameters.size() > 1) f.bias = static_cast<double>(elements(op.parameters[1].shape));
  return f;
}

Cost cost(double flop, double bytes) { return {Flop(flop), Bytes(bytes)}; }

// One product a direction; forward adds the bias to every output, backward_weights sums it up.
// Gradients of parameters are f32 in any run.
Cost product(const Operand& f, double multiply_adds, double weight, double bias) {
  const bool with_bias = bias > 0 && f.direction != Direction::backward_data;
  const double each = f.direction == Direction::backward_weights ? kF32 : f.e;
  return cost(2.0 * multiply_adds + (with_bias ? f.y : 0),
              f.e * (f.x + f.y) + each * (weight + (with_bias ? bias : 0)));
}

// Element-wise: FLOP an element and tensors that are read or written, forward and backward.
struct Rates {
  double flop, tensors;
};
Cost element_wise(const Operand& f, Rates forward, Rates backward) {
  if (f.direction == Direction::backward_weights) return {};
  const Rates r = f.direction == Direction::forward ? forward : backward;
  return cost(r.flop * f.x, f.e * r.tensors * f.x);
}

struct Count {
  const Graph& graph;
  const Op& op;
  const Operand& f;

  Cost operator()(const Linear& a) const {
    const double n = static_cast<double>(a.out_features), k = static_cast<double>(a.in_features);
    return product(f, f.y * k, n * k, a.bias ? n : 0);
  }

  Cost operator()(const Convolution& a) const {
    const auto window = static_cast<double>(a.kernel * a.kernel * (a.in_channels / a.groups));
    return product(f, f.y * window, f.weight, f.bias);
  }

  // A square window visits every output once per window element.
  Cost operator()(const Pool& a) const {
    if (f.direction == Direction::backward_weights) return {};
    return cost(f.y * static_cast<double>(a.kernel * a.kernel), f.e * (f.x + f.y));
  }

  // Forward: mean 1, variance 3, centre and scale 2, weight and bias 2. Backward, both gradients
  // in one pass: normalised x 2, two sums 3, dx 6. x is read; x and dy are read: y or dx written.
  Cost norm() const { return element_wise(f, {8, 2}, {11, 3}); }
  Cost operator()(const BatchNorm&) const { return norm(); }
  Cost operator()(const LayerNorm&) const { return norm(); }

  Cost operator()(const Relu&) const { return element_wise(f, {1, 2}, {1, 3}); }

  // tanh: 0.5 x (1 + tanh(a (x + b x^3))); erf: 0.5 x (1 + erf(x / sqrt 2)).
  Cost operator()(const Gelu& a) const {
    return a.form == Gelu::Form::tanh ? element_wise(f, {9, 2}, {17, 3})
                                      : element_wise(f, {5, 2}, {11, 3});
  }

  // Backward hands dy on as it is.
  Cost operator()(const Add&) const { return element_wise(f, {1, 3}, {0, 0}); }

  // Backward adds every row of dy to its rows of the tables, which are zeroed and written.
  Cost operator()(const Embedding& a) const {
    const double added = a.positions ? 1 : 0, tokens = 4 * f.x;
    const double positions = a.positions ? f.bias : 0;
    switch (f.direction) {
      case Direction::forward:
        return cost(added * f.y, f.e * (2 * f.y + positions) + tokens);
      case Direction::backward_data:
        return {};
      case Direction::backward_weights:
        return cost((1 + added) * f.y, f.e * f.y + kF32 * (f.weight + positions) + tokens);
    }
    return {};
  }

  // Two products of a head's width a score forward, four backward; a softmax of 5 FLOP a score
  // (and one scaling), its backward 4 (and one). Probabilities are kept between the two.
  Cost operator()(const Attention& a) const {
    const Shape& y = shape_of(graph, op.output);
    const std::int64_t positions = y[0], width = y[1] / a.heads;
    double scores = 0;  // of one head
    for (std::int64_t first = 0; first < positions; first += kAttentionRows) {
      const std::int64_t last = std::min(positions, first + kAttentionRows);
      scores +=
          static_cast<double>(last - first) * static_cast<double>(a.causal ? last : positions);
    }
    scores *= f.batch * static_cast<double>(a.heads);
    const double products = 2 * scores * static_cast<double>(width);
    switch (f.direction) {
      case Direction::forward:
        return cost(2 * products + 6 * scores, f.e * (f.x + f.y + scores));
      case Direction::backward_data:
        return cost(4 * products + 5 * scores, f.e * (2 * f.x + f.y + scores));
      case Direction::backward_weights:
        return {};
    }
    return {};
  }

  Cost operator()(const Dropout&) const { return element_wise(f, {1, 2}, {1, 2}); }
  Cost operator()(const Reshape&) const { return {}; }

  // Forward: maximum, subtraction, exponential, sum and logarithm: 5 an element. Backward has x
  // and no probabilities: the first three and the sum again, then subtraction, exponential and
  // scaling for the value; one subtraction at the label. Labels are 4 bytes a row.
  Cost operator()(const SoftmaxCrossEntropy& a) const {
    const double rows = f.x / static_cast<double>(a.classes);
    switch (f.direction) {
      case Direction::forward:
        return cost(5 * f.x, f.e * f.x + kF32 * f.y + 4 * rows);
      case Direction::backward_data:
        return cost(7 * f.x + rows, f.e * 2 * f.x + 4 * rows);
      case Direction::backward_weights:
        return {};
    }
    return {};
  }
};

bool is_norm(const Op& op) {
  return std::holds_alternative<BatchNorm>(op.attributes) ||
         std::holds_alternative<LayerNorm>(op.attributes);
}

// Whether a gradient of this tensor is of use to anybody: some parameter or norm stands before it.
bool wanted(const Graph& graph, int tensor) {
  if (tensor == graph.input) return false;
  for (const Op& op : graph.ops) {
    if (op.output != tensor) continue;
    if (!op.parameters.empty()) return true;
    for (const int input : op.inputs) {
      if (wanted(graph, input)) return true;
    }
  }
  return false;
}

}  // namespace

Cost cost_of(const Graph& graph, const Op& op, Direction direction, std::int64_t batch,
             DType dtype) {
  expects(batch >= 1, "cost_of: the batch has at least one sample");
  const Operand f = operand(graph, op, direction, batch, dtype);
  return std::visit(Count{graph, op, f}, op.attributes);
}

Cost accumulation_cost(const Graph& graph, int tensor, std::int64_t batch, DType dtype) {
  const int extra = gradient_contributions(graph, tensor) - 1;
  if (extra < 1) return {};
  const double count =
      extra * static_cast<double>(batch) * static_cast<double>(elements(shape_of(graph, tensor)));
  return cost(count, 3.0 * static_cast<double>(size_of(dtype)) * count);
}

bool computes(const Graph& graph, const Op& op, Direction direction) {
  if (std::holds_alternative<Reshape>(op.attributes)) return false;
  switch (direction) {
    case Direction::forward:
      return true;
    case Direction::backward_data:
      if (std::holds_alternative<Embedding>(op.attributes) ||
          std::holds_alternative<Add>(op.attributes)) {
        return false;  // tokens have no gradient; a sum hands its own on
      }
      return is_norm(op) || needs_input_gradient(graph, op);
    case Direction::backward_weights: {
      const auto* const linear = std::get_if<Linear>(&op.attributes);
      const bool tied = linear != nullptr && !linear->tied_to.empty();
      return !is_norm(op) && (tied || !op.parameters.empty());
    }
  }
  return false;
}

bool needs_input_gradient(const Graph& graph, const Op& op) {
  for (const int input : op.inputs) {
    if (wanted(graph, input)) return true;
  }
  return false;
}

int gradient_contributions(const Graph& graph, int tensor) {
  if (!wanted(graph, tensor)) return 0;
  int count = 0;
  for (const Op& op : graph.ops) {
    for (const int input : op.inputs) count += input == tensor ? 1 : 0;
  }
  return count;
}

Cost training_cost(const Graph& graph, std::int64_t batch, DType dtype) {
  Cost sum{};
  const auto count = [&sum](const Cost& more) {
    sum.flop += more.flop;
    sum.bytes += more.bytes;
  };
  for (const Op& op : graph.ops) {
    for (const Direction direction :
         {Direction::forward, Direction::backward_data, Direction::backward_weights}) {
      if (computes(graph, op, direction)) count(cost_of(graph, op, direction, batch, dtype));
    }
  }
  for (int tensor = 0; tensor < static_cast<int>(graph.tensors.size()); ++tensor) {
    count(accumulation_cost(graph, tensor, batch, dtype));
  }
  return sum;
}

}  // namespace plimsoll
