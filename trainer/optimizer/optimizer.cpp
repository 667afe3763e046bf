// The list of optimizers, and what they share.

#include "trainer/optimizer/optimizer.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"

namespace plimsoll::trainer {
namespace {

constexpr std::array kOptimizers{OptimizerEntry{"sgd", 0.01, make_sgd},
                                 OptimizerEntry{"adam", 0.001, make_adam},
                                 OptimizerEntry{"adamw", 0.001, make_adamw}};

}  // namespace

std::span<const OptimizerEntry> optimizers() { return kOptimizers; }

const OptimizerEntry& optimizer_named(const std::string& name) {
  std::string known;
  for (const OptimizerEntry& entry : kOptimizers) {
    if (entry.name == name) return entry;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw usage_error("unknown optimizer '" + name + "'", "--optimizer", "use one of: " + known);
}

const OptimizerEntry& optimizer_of(const Plan& plan, const Workload& workload) {
  return optimizer_named(plan.optimizer.empty() ? workload.default_optimizer : plan.optimizer);
}

std::vector<MemoryItem> Optimizer::memory() {
  std::vector<MemoryItem> items;
  for (const OptimizerState& part : state()) {
    items.push_back(
        {.name = part.name, .bytes = Bytes(static_cast<double>(part.values.size_bytes()))});
  }
  return items;
}

Range parameter_range(const FlatLayout& layout) {
  std::int64_t begin = layout.total;
  for (const Range& parameter : layout.parameters) begin = std::min(begin, parameter.begin);
  return {begin, layout.total};
}

std::vector<Piece> pieces(const Graph& graph, const FlatLayout& layout, double weight_decay) {
  const Range all = parameter_range(layout);
  if (weight_decay == 0) return {{.range = all, .decays = false}};
  std::vector<Piece> parts;
  std::size_t index = 0;
  for (const Op& op : graph.ops) {
    for (const Parameter& parameter : op.parameters) {
      parts.push_back({.range = layout.parameters[index++], .decays = parameter.shape.size() > 1});
    }
  }
  std::ranges::sort(parts, {}, [](const Piece& piece) { return piece.range.begin; });
  // Up to the next parameter: what lies between is zero and stays zero.
  std::vector<Piece> joined;
  for (const Piece& part : parts) {
    if (!joined.empty()) joined.back().range.end = part.range.begin;
    if (joined.empty() || joined.back().decays != part.decays) joined.push_back(part);
  }
  if (!joined.empty()) joined.back().range.end = all.end;
  return joined;
}

Range common(const Range& a, const Range& b) {
  const std::int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

double clip_factor(double norm, double most) {
  constexpr double kAbove = 1e-6;  // as torch.nn.utils.clip_grad_norm_
  return most <= 0 ? 1.0 : std::min(1.0, most / (norm + kAbove));
}

}  // namespace plimsoll::trainer
