// An operator as pieces that the kernel probes measured.
//
//     linear            matmul table, rows = batch x positions
//     convolution       convolution table; g groups: g times that of in / g and out / g channels
//     depthwise         pooling table (average) of the same image, window and stride
//     attention         matmul table, rows = batch x heads x positions, n = keys met, k = width of
//     a
//                       head, twice forward and four times backward; softmax rows by met scores
//     norms, gelu, relu, add, dropout, embedding, loss   element-wise table, by bytes
//
// Source    Probes kernel.matmul, kernel.convolution, kernel.pooling, kernel.elementwise.
// Assumes   A depthwise convolution visits its windows as average pooling does, forward and for its
//           weights alike. The heads of an attention run as fast as one product of all their rows.
//           The softmax of a met score costs what it costs in a loss of many classes, its gradient
//           three streams of an addition. In bf16, loops that arithmetic bounds (layer norm, gelu,
//           dropout, softmax) take an element's time of f32; the others take the time of their
//           bytes. A loss has the table of few classes up to 64 of them, else that of many.
// Fails     Groups of very few channels, which a library may run as it does depthwise ones; an
//           embedding whose table is far larger than the caches the probe's fits.
// Limits    Outside the tables: see models/numeric/surface.cpp; flagged as extrapolated.
// Tests     tests/models/operator/pieces_test.cpp.

#include "models/operator/pieces.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace plimsoll::models {
namespace {

constexpr std::int64_t kManyClasses = 64;

const char* suffix(Direction direction) {
  return direction == Direction::forward ? "_forward" : "_backward";
}

Piece element_wise(const std::string& operation, Bytes bytes) {
  return {.curve = operation,
          .table = [operation](const Machine& machine,
                               DType) { return elementwise_table(machine, operation); },
          .features = elementwise_features(bytes)};
}

Piece product(Direction direction, const Linear& shape, double rows, double count) {
  return {.curve = "linear." + to_string(direction),
          .table = [direction](const Machine& machine,
                               DType dtype) { return linear_table(machine, dtype, direction); },
          .features = linear_features(shape, rows),
          .count = count};
}

struct Mapper {
  const Graph& graph;
  const Op& op;
  Direction direction;
  std::int64_t batch;
  DType dtype;

  [[nodiscard]] const Shape& input() const {
    return graph.tensors[static_cast<std::size_t>(op.inputs.front())].shape;
  }
  [[nodiscard]] Bytes bytes(DType type) const {
    return cost_of(graph, op, direction, batch, type).bytes;
  }
  [[nodiscard]] std::string named(const std::string& operation) const {
    return operation + suffix(direction);
  }
  [[nodiscard]] std::vector<Piece> by_bytes(const std::string& operation) const {
    return {element_wise(operation, bytes(dtype))};
  }
  [[nodiscard]] std::vector<Piece> by_elements(const std::string& operation) const {
    return {element_wise(operation, bytes(DType::f32))};
  }

  std::vector<Piece> operator()(const Linear& a) const {
    const std::int64_t positions = elements(input()) / a.in_features;
    return {product(direction, a, static_cast<double>(batch) * static_cast<double>(positions), 1)};
  }
  std::vector<Piece> operator()(const Convolution& a) const {
    if (a.groups > 1 && a.in_channels == a.groups) return {depthwise(a)};
    Convolution one = a;
    one.in_channels /= a.groups;
    one.out_channels /= a.groups;
    return {{.curve = "convolution." + to_string(direction),
             .table = [d = direction](const Machine& machine,
                                      DType type) { return convolution_table(machine, type, d); },
             .features = convolution_features(one, input().front(), batch),
             .count = static_cast<double>(a.groups)}};
  }
  [[nodiscard]] Piece depthwise(const Convolution& a) const {
    const Pool window{Pool::Mode::average, a.kernel, a.stride, a.padding};
    const Direction like = direction == Direction::backward_data ? direction : Direction::forward;
    return {.curve = "depthwise_convolution." + to_string(direction),
            .table = [like](const Machine& machine,
                            DType) { return pool_table(machine, Pool::Mode::average, like); },
            .features = pool_features(window, input().front(), a.out_channels, batch)};
  }
  std::vector<Piece> operator()(const Pool& a) const {
    return {{.curve = kind_of(op) + "." + to_string(direction),
             .table = [mode = a.mode, d = direction](
                          const Machine& machine, DType) { return pool_table(machine, mode, d); },
             .features = pool_features(a, input().front(), input().back(), batch)}};
  }
  std::vector<Piece> operator()(const BatchNorm&) const { return by_bytes(named("batch_norm")); }
  std::vector<Piece> operator()(const LayerNorm&) const { return by_elements(named("layer_norm")); }
  std::vector<Piece> operator()(const Relu&) const { return by_bytes(named("relu")); }
  std::vector<Piece> operator()(const Gelu&) const { return by_elements(named("gelu")); }
  std::vector<Piece> operator()(const Add&) const { return by_bytes("add"); }
  std::vector<Piece> operator()(const Embedding&) const { return by_bytes(named("embedding")); }
  std::vector<Piece> operator()(const Dropout&) const { return by_elements("dropout"); }
  std::vector<Piece> operator()(const Reshape&) const { return {}; }
  std::vector<Piece> operator()(const SoftmaxCrossEntropy& a) const {
    return by_elements(named(a.classes > kManyClasses ? "softmax_rows" : "softmax_cross_entropy"));
  }

  std::vector<Piece> operator()(const Attention& a) const {
    const std::int64_t positions = input()[0], width = input()[1] / 3 / a.heads;
    const double rows = static_cast<double>(batch) * static_cast<double>(a.heads * positions);
    double met = 0;  // scores of a head that a product computes
    for (std::int64_t first = 0; first < positions; first += kAttentionRows) {
      const std::int64_t last = std::min(positions, first + kAttentionRows);
      met += static_cast<double>((last - first) * (a.causal ? last : positions));
    }
    const auto keys = static_cast<std::int64_t>(met / static_cast<double>(positions) + 0.5);
    const Linear scores{width, keys}, values{keys, width};
    // Scores that softmax goes over: in a causal block only what each query sees.
    const double seen = rows * (a.causal ? (static_cast<double>(positions) + 1) / 2
                                         : static_cast<double>(positions));
    constexpr double kF32 = 4;
    // Bias sums that the table's products carry and these do not are far below its spread.
    if (direction == Direction::forward) {
      return {product(Direction::forward, scores, rows, 1),
              product(Direction::forward, values, rows, 1),
              element_wise("softmax_rows_backward", Bytes(2 * kF32 * seen))};
    }
    return {product(Direction::forward, scores, rows, 1),
            product(Direction::forward, values, rows, 3),
            element_wise("add", Bytes(3 * kF32 * seen))};
  }
};

}  // namespace

std::vector<Piece> pieces_of(const Graph& graph, const Op& op, Direction direction,
                             std::int64_t batch, DType dtype) {
  return std::visit(Mapper{graph, op, direction, batch, dtype}, op.attributes);
}

Piece accumulation_piece(Bytes bytes) { return element_wise("add", bytes); }

}  // namespace plimsoll::models
