// Memory of one rank.
//
//     parameters = gradients = momentum = 4 P          (f32: 12 bytes a parameter together)
//     activations = b e sum of all tensors made by operators, but reshapes
//     activation gradients = the same without the loss
//     workspace = b * 4 * pooled outputs of largest-pooling (which input won)
//     input = slots b (4 elements of a sample + 4 bytes of label)
//     slots = prefetch + 1 with loader threads, else 1
//
// Source    Counting the tensors of the graph; 12 bytes a parameter is the well-known figure of SGD
//           with momentum in single precision.
// Assumes   Every activation lives from forward to its backward, every gradient has its own buffer.
// Fails     With memory planning that reuses buffers: an upper bound then.
// Limits    One sample, no prefetch: parameters dominate.
// Tests     tests/models/memory/footprint_test.cpp.

#include "models/memory/footprint.hpp"

#include <algorithm>
#include <variant>

#include "core/error.hpp"

namespace plimsoll::models {

std::vector<MemoryItem> footprint(const Workload& workload, const Plan& plan, std::int64_t batch) {
  expects(batch >= 0, "footprint: the batch is not negative");
  const auto samples = static_cast<double>((batch + plan.accumulate - 1) / plan.accumulate);
  const Bytes parameters(4.0 * static_cast<double>(parameter_count(workload.graph)));
  double values = 0, gradients = 0, pooled = 0;  // elements of one sample
  for (const Op& op : workload.graph.ops) {
    if (std::holds_alternative<Reshape>(op.attributes)) continue;
    const auto& tensor = workload.graph.tensors[static_cast<std::size_t>(op.output)];
    const auto count = static_cast<double>(elements(tensor.shape));
    values += count;
    if (!std::holds_alternative<SoftmaxCrossEntropy>(op.attributes)) gradients += count;
    const auto* pool = std::get_if<Pool>(&op.attributes);
    if (pool != nullptr && pool->mode == Pool::Mode::max) pooled += count;
  }
  const Bytes batch_element(samples * static_cast<double>(size_of(plan.dtype)));
  const double input_elements = static_cast<double>(elements(workload.sample_shape));
  const double slots = plan.loader_workers > 0 ? std::max(plan.prefetch, 1) + 1.0 : 1.0;
  const std::string& optimizer =
      plan.optimizer.empty() ? workload.default_optimizer : plan.optimizer;
  std::vector<MemoryItem> items{{"parameters", parameters}, {"gradients", parameters}};
  if (optimizer == "sgd") {
    items.push_back({"momentum", parameters});
  } else {
    items.push_back({"first_moment", parameters});
    items.push_back({"second_moment", parameters});
  }
  const std::vector<MemoryItem> rest{
      {"activations", batch_element * values},
      {"activation gradients", batch_element * gradients},
      {"workspace", Bytes(samples * 4.0 * pooled)},
      {"input", Bytes(slots * samples * (4.0 * input_elements + 4.0))},
  };
  items.insert(items.end(), rest.begin(), rest.end());
  return items;
}

Bytes total(const std::vector<MemoryItem>& items) {
  Bytes sum;
  for (const MemoryItem& item : items) sum += item.bytes;
  return sum;
}

}  // namespace plimsoll::models
