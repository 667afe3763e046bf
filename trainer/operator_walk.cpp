// The kernels are those of a program in which nothing is fused, in memory of their own.

#include "trainer/operator_walk.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.hpp"
#include "core/system/clock.hpp"
#include "trainer/execution/network_state.hpp"
#include "trainer/execution/program_kernels.hpp"
#include "trainer/finite.hpp"

namespace plimsoll::trainer {
namespace {

bool view_is_finite(const View& view) {
  if (view.data == nullptr) return true;
  const auto count = static_cast<std::size_t>(view.elements);
  if (view.dtype == DType::f32) return all_finite({static_cast<const float*>(view.data), count});
  const auto* halves = static_cast<const std::uint16_t*>(view.data);
  return std::none_of(halves, halves + count,
                      [](std::uint16_t half) { return (half & 0x7F80U) == 0x7F80U; });
}

ExecutorOptions one_batch(const WalkedBatch& batch) {
  return {.batches = {batch.batch},
          .evaluation_batches = {},
          .slots = 1,
          .dtype = batch.dtype,
          .threads = batch.threads};
}

CompileOptions apart(const WalkedBatch& batch) {
  return {.batch = batch.batch, .dtype = batch.dtype, .mode = Mode::train, .fuse = false};
}

class Walk {
 public:
  explicit Walk(const WalkedBatch& batch)
      : batch_(batch),
        program_(compile(batch.graph, batch.backend, apart(batch))),
        state_(batch.graph, batch.backend, batch.layout, one_batch(batch)),
        arena_(Bytes(static_cast<double>(std::max<std::int64_t>(64, program_.arena_bytes))),
               "activations of the operators' walk"),
        kernels_(make_kernels(batch.graph, batch.backend, state_, program_, arena_.data())) {
    copy_from_executor();
  }

  // Calls visit(step, kernel) after each kernel; the step's kind tells whether it is an operator's.
  template <class Visit>
  void run(const Visit& visit) {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      const BoundStep& bound = kernels_.steps[i];
      if (bound.ready >= 0) continue;
      bound.execute(0);
      if (!visit(program_.steps[i], *bound.by_slot.front())) return;
    }
  }

  // Right after the step: its memory may be another's later.
  [[nodiscard]] bool wrote_finite(const ProgramStep& step) const {
    bool finite = true;
    if (step.direction == Direction::forward) return finite_buffer(step.y);
    finite &= finite_buffer(step.dx) && finite_buffer(step.dw);
    if (step.dw >= 0) return finite;
    for (const std::size_t p : state_.parameters(step.op)) {
      finite &= view_is_finite(state_.weight_gradient(p));
    }
    return finite;
  }

 private:
  [[nodiscard]] bool finite_buffer(int id) const {
    if (id < 0) return true;
    return view_is_finite(view_of(program_.buffers[static_cast<std::size_t>(id)], arena_.data()));
  }

  void copy_from_executor() {
    std::ranges::copy(batch_.executor.weights(), state_.weights().begin());
    std::ranges::copy(batch_.executor.state(), state_.state().begin());
    std::ranges::fill(state_.gradients(), 0.0F);
    state_.weights_changed();
    const InputSlot from = batch_.executor.slots()[static_cast<std::size_t>(batch_.slot)];
    const InputSlot to = state_.slots().front();
    const Graph& graph = batch_.graph;
    const std::int64_t row = elements(graph.tensors[static_cast<std::size_t>(graph.input)].shape);
    const auto inputs = static_cast<std::size_t>(batch_.batch * row);
    if (from.x != nullptr) std::copy_n(from.x, inputs, to.x);
    if (from.tokens != nullptr) std::copy_n(from.tokens, inputs, to.tokens);
    std::copy_n(from.labels, static_cast<std::size_t>(batch_.batch * rows_of_output(graph)),
                to.labels);
    state_.step = batch_.step;
  }

  static std::int64_t rows_of_output(const Graph& graph) {
    const Shape& outputs =
        graph.tensors[static_cast<std::size_t>(graph.ops.back().inputs[0])].shape;
    return elements(outputs) / outputs.back();
  }

  WalkedBatch batch_;
  Program program_;
  NetworkState state_;
  sys::Buffer arena_;
  ProgramKernels kernels_;
};

bool of_an_operator(const ProgramStep& step) { return step.kind == ProgramStep::Kind::kernel; }

}  // namespace

std::optional<std::string> first_not_finite(const WalkedBatch& batch) {
  if (batch.batch == 0) return std::nullopt;
  Walk walk(batch);
  std::optional<std::string> found;
  walk.run([&](const ProgramStep& step, const Kernel&) {
    if (!of_an_operator(step) || walk.wrote_finite(step)) return true;
    found = batch.graph.ops[static_cast<std::size_t>(step.op)].name + " (" +
            to_string(step.direction) + ")";
    return false;
  });
  return found;
}

std::optional<std::string> first_gradient_not_finite(const Graph& graph, const FlatLayout& layout,
                                                     std::span<const float> gradients) {
  std::size_t end = layout.parameters.size();
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    end -= op->parameters.size();
    for (std::size_t p = 0; p < op->parameters.size(); ++p) {
      const Range& range = layout.parameters[end + p];
      if (all_finite(gradients.subspan(static_cast<std::size_t>(range.begin),
                                       static_cast<std::size_t>(range.size())))) {
        continue;
      }
      return op->name + " (gradient of " + op->parameters[p].name + ")";
    }
  }
  return std::nullopt;
}

std::vector<OperatorTime> time_operators(const WalkedBatch& batch, int passes) {
  if (batch.batch == 0) return {};
  Walk walk(batch);
  std::vector<OperatorTime> times;
  for (int pass = 0; pass <= passes; ++pass) {  // the first one warms up
    std::size_t i = 0;
    Seconds before = sys::now();
    walk.run([&](const ProgramStep& step, const Kernel& kernel) {
      const Seconds now = sys::now();
      if (of_an_operator(step)) {
        if (pass == 0) {
          times.push_back({.op = batch.graph.ops[static_cast<std::size_t>(step.op)].name,
                           .direction = to_string(step.direction),
                           .kernel = kernel.implementation(),
                           .flop = kernel.counted().flop,
                           .samples = {}});
        } else {
          times[i].samples.push_back(now - before);
        }
        ++i;
      }
      before = sys::now();
      return true;
    });
  }
  return times;
}

}  // namespace plimsoll::trainer
