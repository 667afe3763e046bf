// A compiled program as text: printed to be read, saved, and loaded again.
//
//     plimsoll.program/1
//     batch 256          dtype, mode, scores, losses, forward_steps and arena_bytes likewise
//     operator 0 fc1 linear [784] -> [1024] ...     of the graph, to tell another one
//     buffer 0 offset 0 elements 200704 f32 steps 0-7 fc1+relu1
//     step 0 forward fc1 + relu1 activation relu x input y 0
//     ...
//     checksum 0123456789abcdef

#pragma once

#include <string>

#include "trainer/execution/program.hpp"

namespace plimsoll::trainer {

[[nodiscard]] std::string to_text(const Program& program, const Graph& graph);

// What the program has to be for.
struct ProgramUse {
  const Graph& graph;
  std::int64_t batch = 0;
  DType dtype = DType::f32;
  Mode mode = Mode::train;
};
// Error naming what differs when the text is of another graph, batch, type or mode, is damaged or
// has live buffers that overlap; `where` is the file, for the message.
[[nodiscard]] Program program_from(const std::string& text, const ProgramUse& use,
                                   const std::string& where);

// To a temporary name first, then renamed.
void save_program(const std::string& path, const Program& program, const Graph& graph);
[[nodiscard]] Program load_program(const std::string& path, const ProgramUse& use);

}  // namespace plimsoll::trainer
