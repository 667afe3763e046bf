// The list of execution modes.

#include "trainer/execution/executor.hpp"

#include <array>

#include "core/error.hpp"

namespace plimsoll::trainer {
namespace {

constexpr std::array kModes{ExecutionMode{"eager", make_eager_executor},
                            ExecutionMode{"async", make_async_executor},
                            ExecutionMode{"graph", make_graph_executor}};

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

}  // namespace plimsoll::trainer
