// Symbolic execution: a network is compiled once for each batch size and mode (program.hpp), its
// kernels are made once on one arena, and a step replays them.

#pragma once

#include <memory>
#include <vector>

#include "trainer/execution/executor.hpp"
#include "trainer/execution/program.hpp"

namespace plimsoll::trainer {

struct GraphOptions {
  bool fuse = true;
  // Programs that were compiled before, e.g. read from a file: taken for their batch, type and mode
  // instead of compiling. They must be of this graph.
  std::vector<Program> programs = {};
};

class GraphExecutor : public Executor {
 public:
  // Sum of all bytes that the programs plan: what peak memory of activations is.
  [[nodiscard]] virtual std::int64_t arena_bytes() const = 0;
  [[nodiscard]] virtual const Program& program(std::int64_t batch, Mode mode) const = 0;
};

[[nodiscard]] std::unique_ptr<GraphExecutor> make_graph_executor(const Graph& graph,
                                                                 const Backend& backend,
                                                                 const FlatLayout& layout,
                                                                 const ExecutorOptions& options,
                                                                 const GraphOptions& wishes);

}  // namespace plimsoll::trainer
