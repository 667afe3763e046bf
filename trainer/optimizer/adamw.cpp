// AdamW: each weight shrinks by learning rate x decay, whatever its gradient.
// Source: Loshchilov and Hutter, "Decoupled weight decay regularization", 2019, algorithm 2.

#include "trainer/optimizer/moments.hpp"

namespace plimsoll::trainer {

std::unique_ptr<Optimizer> make_adamw(const Graph& graph, const FlatLayout& layout,
                                      const OptimizerOptions& options) {
  return std::make_unique<MomentOptimizer>(graph, layout, options,
                                           MomentOptimizer::Decay::shrinks_weight);
}

}  // namespace plimsoll::trainer
