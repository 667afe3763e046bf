// What a kernel does that its backend says nothing about.

#include "core/error.hpp"
#include "trainer/backend/backend.hpp"

namespace plimsoll::trainer {

void Kernel::bind(const Operands&) { expects(false, "this backend's kernels can be bound anew"); }

}  // namespace plimsoll::trainer
