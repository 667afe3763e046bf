// Hybrid execution: a model that is written imperatively is run once on an example, and what it
// called becomes a graph, which can then be compiled like any other. What depends on values (an if
// on a loss, a loop until it converges) is fixed as it went for the example.

#pragma once

#include <functional>

#include "trainer/backend/imperative/session.hpp"

namespace plimsoll::trainer::imperative {

// From the input to the per-sample losses.
using Model = std::function<Tensor(const Tensor& input)>;

// Calls the model with `input`, made by the session after begin(Mode::train), and returns its
// graph: operators and parameters with the names that the calls had. Two linear layers that share
// an embedding's table become tied. Error when the model does not end in a loss, or uses one
// parameter twice in another way.
[[nodiscard]] Graph trace(const Model& model, const Tensor& input);

}  // namespace plimsoll::trainer::imperative
