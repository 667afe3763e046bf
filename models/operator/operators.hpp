// How long each operator of a graph takes on a machine, in each direction, for any batch.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/machine.hpp"
#include "core/workload.hpp"
#include "models/operator/pieces.hpp"
#include "models/operator/roofline.hpp"

namespace plimsoll::models {

// Immutable once made: fits one surface for every kind of operator and direction in the graph.
class Operators {
 public:
  // Error naming the probe to run when the machine has no table for an operator.
  // Both are kept by reference.
  Operators(const Machine& machine, const Graph& graph, DType dtype, Load load);
  Operators(Machine&& machine, const Graph& graph, DType dtype, Load load) = delete;

  // batch >= 1. Zero for what does nothing (reshape, weights of an operator without any).
  [[nodiscard]] OperatorTime time(const Op& op, Direction direction, std::int64_t batch) const;
  // Adding one further gradient of a tensor that several operators read; zero where none do.
  [[nodiscard]] OperatorTime accumulation(int tensor, std::int64_t batch) const;
  // SGD with momentum over so many parameters, in one call.
  [[nodiscard]] OperatorTime optimizer(std::int64_t parameters) const;
  // Assembling a batch: random rows of u8 to f32, on one thread.
  [[nodiscard]] OperatorTime gather(std::int64_t batch, std::int64_t sample_elements) const;
  // What was substituted for want of a measurement, and for which operators.
  [[nodiscard]] std::vector<std::string> assumptions() const;

 private:
  struct Curve {
    Surface surface;
    double substitute_sd = 0;
    double typical_error = 0;  // median standard error of its points
  };
  void add(const std::string& key, const KindTable& table, Load load);
  [[nodiscard]] OperatorTime of(const std::vector<Piece>& pieces, Cost cost, int threads) const;

  const Machine& machine_;
  const Graph& graph_;
  DType dtype_;
  Load load_;
  std::map<std::string, Curve> curves_;
  std::map<std::string, std::vector<std::string>> substitutes_;  // what -> curves
};

}  // namespace plimsoll::models
