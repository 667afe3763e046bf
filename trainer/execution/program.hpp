// A network compiled for one batch size, type and mode: which kernels run in which order on which
// buffers, and where these lie in one arena. Nothing here executes; a program can be written to a
// file and read again (plan_file.hpp).

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/execution/fusion.hpp"
#include "trainer/execution/gradient_plan.hpp"

namespace plimsoll::trainer {

struct ProgramBuffer {
  std::string name;  // "fc1", "fc1.gradient", "pool1.workspace", ...
  std::int64_t elements = 0;
  DType dtype = DType::f32;
  int first = -1, last = -1;  // steps between which it must not be overwritten
  std::int64_t offset = 0;    // in the arena
  [[nodiscard]] std::int64_t bytes() const { return elements * size_of(dtype); }
  bool operator==(const ProgramBuffer&) const = default;
};

inline constexpr int kNoBuffer = -1;
inline constexpr int kInputSlot = -2;  // instead of a buffer: where the loader puts batches

struct ProgramStep {
  enum class Kind {
    convert,     // y = x: the input in the type that kernels read
    kernel,      // `direction` of `op`
    accumulate,  // y += x; with `parameter`, that parameter's gradient += x
    copy,        // y = x
    ready,       // all parameter gradients of `op` are final
  };
  Kind kind = Kind::kernel;
  int op = -1;
  Direction direction = Direction::forward;
  Activation activation = Activation::none;
  int x = kNoBuffer, x2 = kNoBuffer, y = kNoBuffer, dx = kNoBuffer, dy = kNoBuffer;
  int workspace = kNoBuffer;
  int dw = kNoBuffer;  // takes the gradient of the first parameter instead of its own place
  int parameter = -1;
  std::vector<int> fused;  // operators that this kernel does along with `op`
  bool operator==(const ProgramStep&) const = default;
};

struct Program {
  std::int64_t batch = 0;
  DType dtype = DType::f32;
  Mode mode = Mode::train;
  std::vector<ProgramStep> steps;
  int forward_steps = 0;  // the first ones
  std::vector<ProgramBuffer> buffers;
  int scores = kNoBuffer, losses = kNoBuffer;
  std::int64_t arena_bytes = 0;
  bool operator==(const Program&) const = default;
};

struct CompileOptions {
  std::int64_t batch = 0;
  DType dtype = DType::f32;
  Mode mode = Mode::train;
  bool fuse = true;
};
[[nodiscard]] Program compile(const Graph& graph, const Backend& backend,
                              const CompileOptions& options);

}  // namespace plimsoll::trainer
