// Memory of one rank.
//
//     parameters = gradients = momentum = 4 P          (f32: 12 bytes a parameter together)
//     activations = b e sum of all tensors made by operators, but reshapes and the loss
//     activation gradients = the same
//     workspace = b * 4 * pooled outputs of largest-pooling (which input won)
//     input = (prefetch + 1) b (4 elements of a sample + 4 bytes of label)
//
// Source    Counting the tensors of the graph; 12 bytes a parameter is the well-known figure of SGD
//           with momentum in single precision.
// Assumes   Every activation lives from forward to its backward, every gradient has its own buffer.
// Fails     With memory planning that reuses buffers: an upper bound then.
// Limits    One sample, no prefetch: parameters dominate.
// Tests     tests/models/memory/footprint_test.cpp.

#include "models/memory/footprint.hpp"

#include <variant>

#include "core/error.hpp"

namespace plimsoll::models {

std::vector<MemoryItem> footprint(const Workload& workload, const Plan& plan, std::int64_t batch) {
  expects(batch >= 0, "footprint: the batch is not negative");
  const auto samples = static_cast<double>(batch);
  const Bytes parameters(4.0 * static_cast<double>(parameter_count(workload.graph)));
  double activation_elements = 0, pool_elements = 0;
  for (const Op& op : workload.graph.ops) {
    const auto& tensor = workload.graph.tensors[static_cast<std::size_t>(op.output)];
    const auto count = static_cast<double>(elements(tensor.shape));
    if (std::holds_alternative<Reshape>(op.attributes)) continue;
    if (std::holds_alternative<SoftmaxCrossEntropy>(op.attributes)) continue;
    activation_elements += count;
    const auto* pool = std::get_if<Pool>(&op.attributes);
    if (pool != nullptr && pool->mode == Pool::Mode::max) pool_elements += count;
  }
  const auto element_bytes = static_cast<double>(size_of(plan.dtype));
  const Bytes activations(samples * element_bytes * activation_elements);
  const double input_elements = static_cast<double>(elements(workload.sample_shape));
  return {
      {"parameters", parameters},
      {"gradients", parameters},
      {"momentum", parameters},
      {"activations", activations},
      {"activation gradients", activations},
      {"workspace", Bytes(samples * 4.0 * pool_elements)},
      {"input", Bytes((plan.prefetch + 1.0) * samples * (4.0 * input_elements + 4.0))},
  };
}

Bytes total(const std::vector<MemoryItem>& items) {
  Bytes sum;
  for (const MemoryItem& item : items) sum += item.bytes;
  return sum;
}

}  // namespace plimsoll::models
