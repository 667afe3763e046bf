// The one loop behind the operator `add` and the accumulation of gradients.

#pragma once

#include <cstdint>

#include "trainer/backend/backend.hpp"

namespace plimsoll::trainer::cpu {

// y = a + b over `count` elements of y's type; y may be a or b.
[[nodiscard]] std::unique_ptr<Kernel> make_sum(const View& y, const View& a, const View& b,
                                               std::int64_t count, int threads, bool relu);

}  // namespace plimsoll::trainer::cpu
