// One operator with random operands of its own, as the tests of the backend need them.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer/backend/backend.hpp"

namespace plimsoll::trainer::test {

// Numbers in (-1, 1) behind a view, off the vector alignment by `shift` elements.
class Storage {
 public:
  Storage(std::int64_t elements, std::uint64_t seed, std::int64_t shift = 0,
          DType dtype = DType::f32);
  [[nodiscard]] View view();
  float* data() { return values_.data() + shift_; }  // of f32

 private:
  std::vector<float> values_;
  std::vector<std::uint16_t> halves_;  // bf16 instead
  std::int64_t shift_;
};

struct Shaped {
  std::string name;  // for messages
  Graph graph;       // its last operator is the one under test
};

// Small odd shapes of every kind of operator.
[[nodiscard]] std::vector<Shaped> shapes();
// One of every kind, enough work at kLargeBatch for a team of threads.
inline constexpr std::int64_t kLargeBatch = 41;
[[nodiscard]] std::vector<Shaped> large_shapes();
[[nodiscard]] Shaped linear(std::int64_t in, std::int64_t out, bool bias = true);
[[nodiscard]] Shaped convolution(std::int64_t side, std::int64_t in, Convolution attributes);

class Fixture {
 public:
  Fixture(const Graph& graph, std::int64_t batch, std::uint64_t seed = 1, std::int64_t shift = 0,
          DType dtype = DType::f32);

  [[nodiscard]] const Op& op() const { return graph_.ops.back(); }
  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] std::unique_ptr<Kernel> make(const Backend& backend, Direction direction);

  // Outputs that another direction needs: y for relu, the workspace for pooling and norms.
  void run_forward(const Backend& backend);

  [[nodiscard]] DType dtype() const { return dtype_; }

  Operands operands;
  StepState step{.seed = 7, .step = 3, .first_sample = 5};

 private:
  View add(std::int64_t elements, DType dtype);
  void add_parameters();
  void add_indices();

  const Graph& graph_;
  std::uint64_t seed_;
  std::int64_t shift_;
  DType dtype_;
  std::vector<std::unique_ptr<Storage>> storage_;
  std::vector<std::int32_t> labels_, tokens_;
  std::vector<std::byte> workspace_;
};

// Whether the backend has kernels for products of this type on this machine.
[[nodiscard]] bool computes_in(const Backend& backend, DType dtype);

// Whether this direction of the operator has a kernel, whatever stands before it.
[[nodiscard]] bool does_something(const Op& op, Direction direction);

inline constexpr Direction kDirections[] = {Direction::forward, Direction::backward_data,
                                            Direction::backward_weights};

}  // namespace plimsoll::trainer::test
