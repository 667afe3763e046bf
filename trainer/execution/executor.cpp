// The list of execution modes, and the weights that training starts from.

#include "trainer/execution/executor.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.hpp"
#include "trainer/data/random.hpp"

namespace plimsoll::trainer {
namespace {

constexpr std::array kModes{ExecutionMode{"eager", make_eager_executor}};

}  // namespace

std::span<const ExecutionMode> execution_modes() { return kModes; }

const ExecutionMode& execution_mode(const std::string& name) {
  std::string known;
  for (const ExecutionMode& mode : kModes) {
    if (mode.name == name) return mode;
    known += (known.empty() ? "" : ", ") + std::string(mode.name);
  }
  throw usage_error("unknown execution '" + name + "'", "--execution", "use one of: " + known);
}

void initialise(std::span<float> weights, const Graph& graph, const FlatLayout& layout,
                std::uint64_t seed) {
  std::fill(weights.begin(), weights.end(), 0.0F);
  std::size_t index = 0;
  for (const Op& op : graph.ops) {
    for (const Parameter& parameter : op.parameters) {
      const Range& range = layout.parameters[index];
      const bool norm = std::holds_alternative<BatchNorm>(op.attributes) ||
                        std::holds_alternative<LayerNorm>(op.attributes);
      if (norm && &parameter == &op.parameters.front()) {
        std::fill(weights.begin() + range.begin, weights.begin() + range.end, 1.0F);
      }
      if (parameter.shape.size() > 1) {
        const std::int64_t fan_in = elements(parameter.shape) / parameter.shape.front();
        const double bound = std::sqrt(1.0 / static_cast<double>(fan_in));
        for (std::int64_t i = 0; i < range.size(); ++i) {
          const double unit = random_unit(seed, index, static_cast<std::uint64_t>(i));
          weights[static_cast<std::size_t>(range.begin + i)] =
              static_cast<float>(bound * (2.0 * unit - 1.0));
        }
      }
      ++index;
    }
  }
}

}  // namespace plimsoll::trainer
