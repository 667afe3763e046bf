// What adam and adamw share: two moments of the gradient. They differ in where weight decay goes.

#pragma once

#include "core/system/buffer.hpp"
#include "trainer/optimizer/optimizer.hpp"

namespace plimsoll::trainer {

class MomentOptimizer final : public Optimizer {
 public:
  enum class Decay { added_to_gradient, shrinks_weight };
  MomentOptimizer(const Graph& graph, const FlatLayout& layout, const OptimizerOptions& options,
                  Decay decay);
  [[nodiscard]] bool update(std::span<float> weights, std::span<const float> gradient_sums,
                            const Update& update) override;
  [[nodiscard]] std::vector<OptimizerState> state() override {
    return {{.name = "first_moment", .values = first_.as<float>()},
            {.name = "second_moment", .values = second_.as<float>()}};
  }

 private:
  OptimizerOptions options_;
  Decay decay_;
  std::vector<Piece> pieces_;
  sys::Buffer first_, second_;
};

}  // namespace plimsoll::trainer
