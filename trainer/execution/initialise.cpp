// The weights that training starts from, by the place of each parameter in the graph.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <variant>

#include "trainer/data/random.hpp"
#include "trainer/execution/executor.hpp"

namespace plimsoll::trainer {
namespace {

// Of the uniform distribution in +-bound the deviation is bound / sqrt(3).
constexpr double kEmbeddingBound = 0.02 * std::numbers::sqrt3;

bool is_norm(const Op& op) {
  return std::holds_alternative<BatchNorm>(op.attributes) ||
         std::holds_alternative<LayerNorm>(op.attributes);
}

// What a stream of additions gains by each: a product that is added at once counts for less, so
// that the sum of all of them does not grow with their number.
double share_of_sum(const Graph& graph, const Op& op) {
  const auto adds = [](const Op& other) { return std::holds_alternative<Add>(other.attributes); };
  const bool added = std::ranges::any_of(graph.ops, [&](const Op& other) {
    return adds(other) && std::ranges::count(other.inputs, op.output) > 0;
  });
  if (!added) return 1.0;
  return 1.0 / std::sqrt(static_cast<double>(std::ranges::count_if(graph.ops, adds)));
}

// Largest absolute value of a parameter with two sides or more.
double bound_of(const Graph& graph, const Op& op, const Parameter& parameter) {
  if (std::holds_alternative<Embedding>(op.attributes)) return kEmbeddingBound;
  const std::int64_t fan_in = elements(parameter.shape) / parameter.shape.front();
  return std::sqrt(1.0 / static_cast<double>(fan_in)) * share_of_sum(graph, op);
}

}  // namespace

void initialise(std::span<float> weights, const Graph& graph, const FlatLayout& layout,
                std::uint64_t seed) {
  std::fill(weights.begin(), weights.end(), 0.0F);
  std::size_t index = 0;
  for (const Op& op : graph.ops) {
    for (const Parameter& parameter : op.parameters) {
      const Range& range = layout.parameters[index];
      const auto begin = weights.begin() + range.begin;
      if (parameter.shape.size() > 1) {
        const double bound = bound_of(graph, op, parameter);
        for (std::int64_t i = 0; i < range.size(); ++i) {
          const double unit = random_unit(seed, index, static_cast<std::uint64_t>(i));
          begin[i] = static_cast<float>(bound * (2.0 * unit - 1.0));
        }
      } else if (is_norm(op) && &parameter == &op.parameters.front()) {
        std::fill_n(begin, range.size(), 1.0F);
      }
      ++index;
    }
  }
}

}  // namespace plimsoll::trainer
