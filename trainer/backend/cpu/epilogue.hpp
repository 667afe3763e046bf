// How kernels end: post-ops of the library, and what they count.

#pragma once

#include "trainer/backend/cpu/operators.hpp"

namespace plimsoll::trainer::cpu {

// What a request asks for: a residual is an x2 that the operator itself has no use for.
[[nodiscard]] Epilogue epilogue_of(const Request& request);

// Attributes of a primitive that ends so: own scratchpad, residual first, then the activation.
[[nodiscard]] dnnl::primitive_attr ending(const Epilogue& epilogue, const Desc& residual);
// The argument that a residual is.
[[nodiscard]] int residual_argument();

// One addition and the activation's own FLOP an output (core/cost.cpp); the residual is read.
[[nodiscard]] Cost epilogue_cost(const Epilogue& epilogue, double outputs, DType dtype);

}  // namespace plimsoll::trainer::cpu
