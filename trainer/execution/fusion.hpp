// Which operators run as a part of the one before them. A pure function of the graph and of what
// the backend can do.
//
// Linear, convolution and add take a relu with them; in evaluation linear and convolution also a
// gelu, whose backward would need the numbers before it. A batch norm takes a relu, backward too.
// A linear layer takes an addition whose other term is there before it. All of these give the bits
// that separate kernels give: a gelu and an addition are fused in f32 only, since in bf16 a
// rounding would be left out.

#pragma once

#include <string>
#include <vector>

#include "trainer/backend/backend.hpp"

namespace plimsoll::trainer {

struct Fusion {
  // By operator.
  std::vector<int> into;  // the operator that runs this one with it, -1: runs by itself
  std::vector<Activation> activation;
  std::vector<int> residual;  // tensor that is added to its output, -1: none
  std::vector<int> writes;    // tensor that its forward kernel writes
};

// `wanted` false: nothing is fused.
[[nodiscard]] Fusion plan_fusion(const Graph& graph, const Backend& backend, std::int64_t batch,
                                 DType dtype, Mode mode, bool wanted = true);

}  // namespace plimsoll::trainer
