// Which measured tables speak for an operator, with which features and how often.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/machine.hpp"
#include "core/workload.hpp"
#include "models/operator/kinds.hpp"

namespace plimsoll::models {

// A part of an operator that one table is asked for: its time is `count` times the table's.
struct Piece {
  std::string curve;  // names the table: pieces of one curve share it
  std::function<KindTable(const Machine&, DType)> table;
  std::vector<double> features;
  double count = 1;
};

// Of a direction that computes() grants.
[[nodiscard]] std::vector<Piece> pieces_of(const Graph& graph, const Op& op, Direction direction,
                                           std::int64_t batch, DType dtype);

// One addition of a further gradient to a tensor's first.
[[nodiscard]] Piece accumulation_piece(Bytes bytes);

}  // namespace plimsoll::models
