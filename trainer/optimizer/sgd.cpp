// Stochastic gradient descent with momentum: g = sums x scale + decay w; v = momentum v + g;
// w -= rate v.

#include <algorithm>

#include "core/error.hpp"
#include "core/system/buffer.hpp"
#include "trainer/backend/backend.hpp"
#include "trainer/optimizer/optimizer.hpp"

namespace plimsoll::trainer {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(const Graph& graph, const FlatLayout& layout, const OptimizerOptions& options)
      : options_(options),
        pieces_(pieces(graph, layout, options.rule.weight_decay)),
        velocity_(Bytes(4.0 * static_cast<double>(layout.total)), "momentum", sys::Page::huge) {
    std::ranges::fill(velocity_.as<float>(), 0.0F);
  }

  [[nodiscard]] bool update(std::span<float> weights, std::span<const float> gradient_sums,
                            const Update& update) override {
    expects(weights.size() == gradient_sums.size() && weights.size_bytes() <= velocity_.size(),
            "sgd: weights, gradients and momentum belong together");
    bool finite = true;
    for (const Piece& piece : pieces_) {
      const Range part = common(piece.range, update.part);
      if (part.size() == 0) continue;
      const double decay = piece.decays ? options_.rule.weight_decay : 0.0;
      finite &= sgd_momentum(weights.data() + part.begin, velocity_.as<float>().data() + part.begin,
                             gradient_sums.data() + part.begin, part.size(),
                             {.learning_rate = static_cast<float>(update.learning_rate),
                              .momentum = static_cast<float>(options_.momentum),
                              .gradient_scale = static_cast<float>(update.gradient_scale),
                              .weight_decay = static_cast<float>(decay)},
                             options_.threads);
    }
    return finite;
  }

  [[nodiscard]] std::vector<OptimizerState> state() override {
    return {{.name = "momentum", .values = velocity_.as<float>()}};
  }

 private:
  OptimizerOptions options_;
  std::vector<Piece> pieces_;
  sys::Buffer velocity_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const Graph& graph, const FlatLayout& layout,
                                    const OptimizerOptions& options) {
  return std::make_unique<Sgd>(graph, layout, options);
}

}  // namespace plimsoll::trainer
