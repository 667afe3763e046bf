// The kernels of a compiled program, bound once to their places in the arena and then replayed.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trainer/execution/network_state.hpp"
#include "trainer/execution/program.hpp"

namespace plimsoll::trainer {

// One kernel to run; one per input slot when it reads the slot, so that no batch is ever copied.
// No kernel at all: `ready` tells whose parameter gradients are final.
struct BoundStep {
  std::vector<std::unique_ptr<Kernel>> by_slot;
  int ready = -1;
  void execute(int slot) const {
    by_slot[by_slot.size() == 1 ? 0 : static_cast<std::size_t>(slot)]->execute();
  }
};

struct ProgramKernels {
  std::vector<BoundStep> steps;
  Flop flop;
  Bytes scratch;
  // "fc1.forward" -> kernel chosen.
  std::map<std::string, std::string> implementations;
};

// `arena` holds Program::arena_bytes. The state outlives the kernels.
[[nodiscard]] ProgramKernels make_kernels(const Graph& graph, const Backend& backend,
                                          const NetworkState& state, const Program& program,
                                          std::byte* arena);

[[nodiscard]] View view_of(const ProgramBuffer& buffer, std::byte* arena);

}  // namespace plimsoll::trainer
