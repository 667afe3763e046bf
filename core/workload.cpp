// Data types, shapes, names of operators, and the count of parameters.

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
                        [](const BatchNorm&) { return "batch_norm"; },
                        [](const LayerNorm&) { return "layer_norm"; },
                        [](const Relu&) { return "relu"; },
                        [](const Gelu&) { return "gelu"; },
                        [](const Add&) { return "add"; },
                        [](const Embedding&) { return "embedding"; },
                        [](const Attention&) { return "attention"; },
                        [](const Dropout&) { return "dropout"; },
                        [](const Reshape&) { return "reshape"; },
                        [](const SoftmaxCrossEntropy&) { return "softmax_cross_entropy"; },
                    },
                    op.attributes);
}

std::int64_t parameter_count(const Graph& graph) {
  std::int64_t count = 0;
  for (const Op& op : graph.ops) {
    for (const Parameter& parameter : op.parameters) count += elements(parameter.shape);
  }
  return count;
}

}  // namespace plimsoll
