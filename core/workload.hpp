// The workload graph: operators with tensor shapes, from which parameters, FLOP and bytes follow.
// Both the model (what should it cost?) and the trainer (what is executed?) read this and nothing
// else about a network: there is no workload-specific code on either side.
//
// Shapes are those of ONE sample, images are height x width x channels (NHWC without N), sequences
// are positions x features; the batch size is given where a cost is asked for. Operators stand in
// execution order. A tensor may be read by several operators: their gradients add up.

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

// --- Operators: attributes only. Adding one is a struct here, its shape rule in graph_builder.cpp,
// its costs in cost.cpp and a file in each backend. ---
struct Linear {  // on the last side: [k] -> [n], or [positions, k] -> [positions, n]
  std::int64_t in_features, out_features;
  bool bias = true;
  // Name of an embedding whose table is this layer's weight ("tied"): then it has no weight of its
  // own, and both gradients add up in the table's.
  std::string tied_to = {};
};
struct Convolution {  // square kernel; output side = (side + 2 padding - kernel) / stride + 1
  std::int64_t in_channels, out_channels, kernel, stride = 1, padding = 0;
  bool bias = true;
  std::int64_t groups = 1;  // each sees in_channels / groups and makes out_channels / groups
};
struct Pool {
  enum class Mode { max, average };
  Mode mode;
  std::int64_t kernel, stride;
  std::int64_t padding = 0;  // below kernel; averages count only what is inside the image
};
// y = (x - mean) / sqrt(variance + epsilon) * weight + bias. Over batch and positions by channel
// (the last side), of this rank's samples; evaluation uses running means, which move by
// `momentum` towards each batch's (the variance without bias).
struct BatchNorm {
  std::int64_t channels;
  double epsilon = 1e-5, momentum = 0.1;
};
struct LayerNorm {  // over the last side
  std::int64_t features;
  double epsilon = 1e-5;
};
struct Relu {};
struct Gelu {
  enum class Form { erf, tanh };
  Form form = Form::tanh;
};
struct Add {};  // two tensors of one shape
// y[i] = table[token[i]] + positions[i]; tokens are whole numbers from 0 below vocabulary.
struct Embedding {
  std::int64_t vocabulary, features;
  bool positions = true;  // learned, one row a position
};
// Multi-head self-attention on [positions, 3 features], queries, keys and values side by side, each
// cut into `heads`: softmax(q k^T / sqrt(features / heads)) v. Causal: no position sees a later
// one.
struct Attention {
  std::int64_t heads;
  bool causal = true;
};
// Queries are taken in blocks of so many rows; a causal block is multiplied with no key behind its
// last row, and these are the scores that count.
inline constexpr std::int64_t kAttentionRows = 128;
// In training each element is kept with probability 1 - rate and divided by it, else 0. What is
// kept is a hash of seed, step, sample (in the global batch), operator and element: the same for
// any number of workers, and after a resume.
struct Dropout {
  double rate;
};
struct Reshape {  // no data moves
  Shape shape;
};
struct SoftmaxCrossEntropy {  // [classes], or [positions, classes]: then the mean over positions
  std::int64_t classes;
};
using OpAttributes = std::variant<Linear, Convolution, Pool, BatchNorm, LayerNorm, Relu, Gelu, Add,
                                  Embedding, Attention, Dropout, Reshape, SoftmaxCrossEntropy>;

struct Parameter {
  std::string name;  // "conv1.weight"
  // linear: [out, in]; convolution: [out, kernel, kernel, in / groups]; bias, norms: [out];
  // embedding: [vocabulary, features], [positions, features]
  Shape shape;
};

struct Op {
  std::string name;  // unique in the graph
  OpAttributes attributes;
  std::vector<int> inputs;  // tensor ids
  int output;               // tensor id
  std::vector<Parameter> parameters;
  std::vector<Parameter> state = {};  // kept beside the parameters, not trained: running means
};
[[nodiscard]] std::string kind_of(const Op& op);  // "linear", "convolution", "max_pool", ...

struct Tensor {
  std::string name;
  Shape shape;  // of one sample
  // Whole numbers (int32, tokens) instead of numbers of the run's data type: a graph's input only.
  bool tokens = false;
};

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;  // execution order; the last one is the loss
  int input = 0;        // tensor id of the network's input
};

// What one direction of one operator does for a batch. `bytes` is the least traffic possible: every
// operand once.
enum class Direction { forward, backward_data, backward_weights };
[[nodiscard]] std::string to_string(Direction direction);
struct Cost {
  Flop flop;
  Bytes bytes;
};
// Shapes and errors: `batch` >= 1. Zero for a direction that computes() denies for every graph.
// Multiply-add counts as 2 FLOP; sources and the counts of each operator: cost.cpp.
[[nodiscard]] Cost cost_of(const Graph& graph, const Op& op, Direction direction,
                           std::int64_t batch, DType dtype);
// Adding the second, third, ... gradient of a tensor to the first: one addition an element.
[[nodiscard]] Cost accumulation_cost(const Graph& graph, int tensor, std::int64_t batch,
                                     DType dtype);
// Whether a training step runs this direction: nothing that only the network's input would see is
// computed. A norm gives the gradients of x and of its parameters in one pass, backward_data, which
// it therefore runs even on the network's input.
[[nodiscard]] bool computes(const Graph& graph, const Op& op, Direction direction);
[[nodiscard]] bool needs_input_gradient(const Graph& graph, const Op& op);
// How many operators hand a gradient back to this tensor.
[[nodiscard]] int gradient_contributions(const Graph& graph, int tensor);
// Everything that one training step on one device computes: all directions, all accumulations.
[[nodiscard]] Cost training_cost(const Graph& graph, std::int64_t batch, DType dtype);
[[nodiscard]] std::int64_t parameter_count(const Graph& graph);

// Builds a graph in execution order and infers every shape; a misfit is an Error naming the
// operator and both shapes.
class GraphBuilder {
 public:
  explicit GraphBuilder(Shape input, bool tokens = false);
  int input() const { return 0; }
  int linear(const std::string& name, int x, std::int64_t out_features, bool bias = true);
  int tied_linear(const std::string& name, int x, const std::string& embedding);
  int convolution(const std::string& name, int x, std::int64_t out_channels, std::int64_t kernel,
                  std::int64_t stride = 1, std::int64_t padding = 0, bool bias = true,
                  std::int64_t groups = 1);
  int pool(const std::string& name, int x, Pool::Mode mode, std::int64_t kernel,
           std::int64_t stride, std::int64_t padding = 0);
  int batch_norm(const std::string& name, int x, double epsilon = 1e-5, double momentum = 0.1);
  int layer_norm(const std::string& name, int x, double epsilon = 1e-5);
  int relu(const std::string& name, int x);
  int gelu(const std::string& name, int x, Gelu::Form form = Gelu::Form::tanh);
  int add(const std::string& name, int left, int right);
  int embedding(const std::string& name, int tokens, std::int64_t vocabulary, std::int64_t features,
                bool positions = true);
  int attention(const std::string& name, int qkv, std::int64_t heads, bool causal = true);
  int dropout(const std::string& name, int x, double rate);
  int reshape(const std::string& name, int x, Shape shape);
  int flatten(const std::string& name, int x);
  int softmax_cross_entropy(const std::string& name, int x);
  // Error when the output of an operator before the last is read by nobody.
  [[nodiscard]] Graph build() &&;

 private:
  int append(Op op, Shape output);
  [[nodiscard]] const Shape& shape_of(int tensor) const;
  [[nodiscard]] const Shape& numbers(const std::string& op, int tensor) const;  // no tokens
  Graph graph_;
};

// A named network together with the data it trains on.
struct Workload {
  std::string name;
  std::string description;
  Graph graph;
  Shape sample_shape;    // as the loader delivers it, e.g. 28 x 28 x 1
  std::int64_t classes;  // labels are 0 .. classes - 1
  std::string dataset;   // "fashion-mnist", "text", "synthetic"
  double default_learning_rate;
  std::string default_optimizer = "sgd";
};

}  // namespace plimsoll
