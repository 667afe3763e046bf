// The one loop behind the operator `add` and the accumulation of gradients.

#pragma once

#include "trainer/backend/backend.hpp"

namespace plimsoll::trainer::cpu {

// y = activation(x + x2) over all elements of y, in its type; y may be x or x2. The activation is
// a relu or none.
[[nodiscard]] std::unique_ptr<Kernel> make_sum(const Operands& operands, int threads);

}  // namespace plimsoll::trainer::cpu
