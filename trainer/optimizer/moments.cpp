// m and v are running means of the gradient and of its square, corrected for their start at zero.
// Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2015, algorithm 1.

#include "trainer/optimizer/moments.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "trainer/backend/backend.hpp"

namespace plimsoll::trainer {
namespace {

sys::Buffer zeros(const FlatLayout& layout, const char* purpose) {
  sys::Buffer buffer(Bytes(4.0 * static_cast<double>(layout.total)), purpose, sys::Page::huge);
  std::ranges::fill(buffer.as<float>(), 0.0F);
  return buffer;
}

}  // namespace

MomentOptimizer::MomentOptimizer(const Graph& graph, const FlatLayout& layout,
                                 const OptimizerOptions& options, Decay decay)
    : options_(options),
      decay_(decay),
      pieces_(pieces(graph, layout, options.rule.weight_decay)),
      first_(zeros(layout, "first moments")),
      second_(zeros(layout, "second moments")) {}

bool MomentOptimizer::update(std::span<float> weights, std::span<const float> gradient_sums,
                             const Update& update) {
  expects(weights.size() == gradient_sums.size() && weights.size_bytes() <= first_.size(),
          "adam: weights, gradients and moments belong together");
  const UpdateRule& rule = options_.rule;
  const auto updates = static_cast<double>(update.step + 1);
  AdamStep step{.learning_rate = static_cast<float>(update.learning_rate),
                .beta1 = static_cast<float>(rule.beta1),
                .beta2 = static_cast<float>(rule.beta2),
                .rest1 = static_cast<float>(1.0 - rule.beta1),
                .rest2 = static_cast<float>(1.0 - rule.beta2),
                .epsilon = static_cast<float>(rule.epsilon),
                .gradient_scale = static_cast<float>(update.gradient_scale),
                .correction1 = static_cast<float>(1.0 - std::pow(rule.beta1, updates)),
                .correction2 = static_cast<float>(1.0 - std::pow(rule.beta2, updates))};
  bool finite = true;
  for (const Piece& piece : pieces_) {
    const Range part = common(piece.range, update.part);
    if (part.size() == 0) continue;
    const double decay = piece.decays ? rule.weight_decay : 0.0;
    const bool added = decay_ == Decay::added_to_gradient;
    step.added_decay = static_cast<float>(added ? decay : 0.0);
    step.shrinking_decay = static_cast<float>(added ? 0.0 : update.learning_rate * decay);
    finite &= adamw(weights.data() + part.begin, first_.as<float>().data() + part.begin,
                    second_.as<float>().data() + part.begin, gradient_sums.data() + part.begin,
                    part.size(), step, options_.threads);
  }
  return finite;
}

}  // namespace plimsoll::trainer
