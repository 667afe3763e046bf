// The kernels of a network for one batch size, in the order in which they run: what eager execution
// executes, and what a graph is compiled from.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trainer/execution/network_memory.hpp"

namespace plimsoll::trainer {

// One kernel to run; one per input slot when it reads the slot, so that no batch is ever copied.
struct Step {
  int op = -1;
  std::vector<std::unique_ptr<Kernel>> by_slot;
  void execute(int slot) const {
    by_slot[by_slot.size() == 1 ? 0 : static_cast<std::size_t>(slot)]->execute();
  }
};

struct BackwardStep {
  Step step;       // or, without a kernel:
  int ready = -1;  // the operator whose parameter gradients are final
};

struct KernelSet {
  std::vector<Step> forward;
  std::vector<BackwardStep> backward;
  Flop flop;
  Bytes scratch;
  // "fc1.forward" -> kernel chosen.
  std::map<std::string, std::string> implementations;
};

[[nodiscard]] KernelSet make_kernels(const Graph& graph, const Backend& backend,
                                     const NetworkMemory& memory, const Compilation& compilation,
                                     std::int64_t batch, Mode mode);

}  // namespace plimsoll::trainer
