// Jobs of the operators of a graph, made through a backend as the trainer makes them.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "probes/kernel/rotation.hpp"
#include "trainer/backend/backend.hpp"

namespace plimsoll::probes {

// What a case measures: the last operator of a graph in one direction.
struct OperatorShape {
  std::shared_ptr<const Graph> graph;
  Direction direction = Direction::forward;
  std::int64_t batch = 1;
  DType dtype = DType::f32;

  [[nodiscard]] const Op& op() const { return graph->ops.back(); }
  [[nodiscard]] Cost cost() const { return cost_of(*graph, op(), direction, batch, dtype); }
  [[nodiscard]] std::int64_t bytes() const;  // of one set, inputs or outputs, whichever is more
};

using MakeBackend = std::function<std::unique_ptr<trainer::Backend>(int threads)>;

// Throws NotApplicable where the backend has no kernel for the shape's data type on this machine.
[[nodiscard]] std::unique_ptr<Rotation> operator_subject(std::shared_ptr<Crew> crew,
                                                         const OperatorShape& shape, double work,
                                                         const MakeBackend& make_backend);

}  // namespace plimsoll::probes
