// The workload graph: operators with tensor shapes, from which parameters, FLOP and bytes follow.
// Both the model (what should it cost?) and the trainer (what is executed?) read this and nothing
// else about a network: there is no workload-specific code on either side.
//
// Shapes are those of ONE sample, images are height x width x channels (NHWC without N); the batch
// size is given where a cost is asked for. Operators stand in execution order.

#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/units.hpp"

namespace plimsoll {

enum class DType { f32, bf16 };
[[nodiscard]] std::int64_t size_of(DType dtype);
[[nodiscard]] std::string to_string(DType dtype);
[[nodiscard]] DType dtype_from(const std::string& text);  // Error (usage) when unknown

using Shape = std::vector<std::int64_t>;
[[nodiscard]] std::int64_t elements(const Shape& shape);  // 1 for an empty shape

// --- Operators: attributes only. Adding one is a struct here, its costs in workload.cpp. ---
struct Linear {
  std::int64_t in_features, out_features;
  bool bias = true;
};
struct Convolution {  // square kernel; output side = (side + 2 padding - kernel) / stride + 1
  std::int64_t in_channels, out_channels, kernel, stride = 1, padding = 0;
  bool bias = true;
};
struct Pool {
  enum class Mode { max, average };
  Mode mode;
  std::int64_t kernel, stride;
};
struct Relu {};
struct Reshape {};  // to a vector: no data moves
struct SoftmaxCrossEntropy {
  std::int64_t classes;
};
using OpAttributes = std::variant<Linear, Convolution, Pool, Relu, Reshape, SoftmaxCrossEntropy>;

struct Parameter {
  std::string name;  // "conv1.weight"
  Shape shape;       // linear: [out, in]; convolution: [out, kernel, kernel, in]; bias: [out]
};

struct Op {
  std::string name;  // unique in the graph
  OpAttributes attributes;
  std::vector<int> inputs;  // tensor ids
  int output;               // tensor id
  std::vector<Parameter> parameters;
};
[[nodiscard]] std::string kind_of(const Op& op);  // "linear", "convolution", "max_pool", ...

struct Tensor {
  std::string name;
  Shape shape;  // of one sample
};

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;  // execution order; the last one is the loss
  int input = 0;        // tensor id of the network's input
};

// What one direction of one operator does for a batch. `bytes` is the least traffic possible: every
// operand once. Backward of the first operator has no input gradient.
enum class Direction { forward, backward_data, backward_weights };
[[nodiscard]] std::string to_string(Direction direction);
struct Cost {
  Flop flop;
  Bytes bytes;
};
// Shapes and errors: `batch` >= 1. Multiply-add counts as 2 FLOP. Source of the formulas: linear
// 2mnk per direction, convolution 2NKCRSPQ per direction, element-wise one FLOP an element.
[[nodiscard]] Cost cost_of(const Graph& graph, const Op& op, Direction direction,
                           std::int64_t batch, DType dtype);
[[nodiscard]] bool needs_input_gradient(const Graph& graph, const Op& op);
[[nodiscard]] std::int64_t parameter_count(const Graph& graph);

// Builds a graph in execution order and infers every shape; a misfit is an Error naming the
// operator and both shapes.
class GraphBuilder {
 public:
  explicit GraphBuilder(Shape input);
  int input() const { return 0; }
  int linear(const std::string& name, int x, std::int64_t out_features, bool bias = true);
  int convolution(const std::string& name, int x, std::int64_t out_channels, std::int64_t kernel,
                  std::int64_t stride = 1, std::int64_t padding = 0, bool bias = true);
  int pool(const std::string& name, int x, Pool::Mode mode, std::int64_t kernel,
           std::int64_t stride);
  int relu(const std::string& name, int x);
  int flatten(const std::string& name, int x);
  int softmax_cross_entropy(const std::string& name, int x);
  [[nodiscard]] Graph build() &&;

 private:
  int add(Op op, Shape output);
  [[nodiscard]] const Shape& shape_of(int tensor) const;
  Graph graph_;
};

// A named network together with the data it trains on.
struct Workload {
  std::string name;
  std::string description;
  Graph graph;
  Shape sample_shape;    // as the loader delivers it, e.g. 28 x 28 x 1
  std::int64_t classes;  // labels are 0 .. classes - 1
  std::string dataset;   // "fashion-mnist"
  double default_learning_rate;
};

}  // namespace plimsoll
