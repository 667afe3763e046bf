// The list of strategies.

#include "trainer/strategy/strategy.hpp"

#include <array>

#include "core/error.hpp"

namespace plimsoll::trainer {
namespace {

constexpr std::array kStrategies{StrategyEntry{"all_reduce", make_ddp, ddp_reserved}};

}  // namespace

std::span<const StrategyEntry> strategies() { return kStrategies; }

const StrategyEntry& strategy_named(const std::string& name) {
  std::string known;
  for (const StrategyEntry& entry : kStrategies) {
    if (entry.name == name) return entry;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw usage_error("unknown way to synchronise '" + name + "'", "--sync", "use one of: " + known);
}

}  // namespace plimsoll::trainer
