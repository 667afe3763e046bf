// The cache of primitives: for each operator with these attributes, shapes and types its kernels,
// which are bound to other buffers at every call.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "trainer/backend/backend.hpp"

namespace plimsoll::trainer::imperative {

// What is looked up. Values in a row: kind, attributes, shape, batch, type, mode.
class Key {
 public:
  void add(std::int64_t value);
  bool operator==(const Key& other) const;
  [[nodiscard]] std::size_t hash() const { return static_cast<std::size_t>(hash_); }

 private:
  static constexpr std::size_t kMost = 24;
  std::array<std::int64_t, kMost> values_;
  std::size_t count_ = 0;
  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
};

// The operator alone in a graph of its own, with what a call has to know about it.
struct Recipe {
  Graph graph;
  std::int64_t batch = 1;
  DType dtype = DType::f32;
  Mode mode = Mode::train;
  std::int64_t y_elements = 0, workspace_floats = 0;  // of the batch
  DType y_dtype = DType::f32;
  // By Direction; made at the first call that needs them, by the thread that executes.
  std::array<std::unique_ptr<Kernel>, 3> kernels;

  [[nodiscard]] const Op& op() const { return graph.ops.back(); }
  [[nodiscard]] const Shape& y_shape() const {
    return graph.tensors[static_cast<std::size_t>(op().output)].shape;
  }
};

// What a call is about: no Op, which would be made anew at every call.
struct Subject {
  const OpAttributes& attributes;
  const Shape& x;  // of one sample
  bool tokens = false;
  std::int64_t batch = 1;
  DType dtype = DType::f32;
  Mode mode = Mode::train;
  const std::string& name;  // of dropout only it is a part of what is computed
};

class Recipes {
 public:
  explicit Recipes(const Backend& backend) : backend_(backend) {}
  // Error naming the operator when the shapes do not fit.
  [[nodiscard]] Recipe& of(const Subject& subject);
  // y += x, and y = x in another type: recipes without an operator.
  [[nodiscard]] Recipe& accumulation(std::int64_t elements, DType dtype);
  [[nodiscard]] Recipe& conversion(std::int64_t elements, DType from, DType to);

  [[nodiscard]] std::size_t size() const { return recipes_.size(); }
  [[nodiscard]] std::int64_t misses() const { return misses_; }
  [[nodiscard]] Bytes scratch() const;  // of all kernels

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const { return key.hash(); }
  };
  [[nodiscard]] Recipe& made(const Key& key, std::unique_ptr<Recipe> recipe);

  const Backend& backend_;
  std::unordered_map<Key, std::unique_ptr<Recipe>, Hash> recipes_;
  std::int64_t misses_ = 0;
};

}  // namespace plimsoll::trainer::imperative
