// Adam: weight decay is added to the gradient, and so scaled by the moments like it.

#include "trainer/optimizer/moments.hpp"

namespace plimsoll::trainer {

std::unique_ptr<Optimizer> make_adam(const Graph& graph, const FlatLayout& layout,
                                     const OptimizerOptions& options) {
  return std::make_unique<MomentOptimizer>(graph, layout, options,
                                           MomentOptimizer::Decay::added_to_gradient);
}

}  // namespace plimsoll::trainer
