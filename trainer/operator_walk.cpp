// The kernels are those that eager execution makes, in memory of their own.

#include "trainer/operator_walk.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.hpp"
#include "core/system/clock.hpp"
#include "trainer/execution/gradient_plan.hpp"
#include "trainer/execution/kernel_set.hpp"
#include "trainer/execution/network_memory.hpp"
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

class Walk {
 public:
  explicit Walk(const WalkedBatch& batch)
      : batch_(batch),
        compilation_(compile_apart(batch.graph)),
        memory_(batch.graph, batch.backend, batch.layout, compilation_, one_batch(batch)),
        set_(make_kernels(batch.graph, batch.backend, memory_, compilation_, batch.batch,
                          Mode::train)) {
    name_directions();
    copy_from_executor();
  }

  // Calls visit(op index, direction, kernel) after each kernel; op is -1 for what belongs to none.
  template <class Visit>
  void run(const Visit& visit) {
    for (const Step& step : set_.forward) {
      step.execute(0);
      if (!visit(step.op, Direction::forward, *step.by_slot.front())) return;
    }
    std::size_t i = 0;
    for (const BackwardStep& one : set_.backward) {
      if (one.ready >= 0) continue;
      one.step.execute(0);
      const auto [op, direction] = backward_[i++];
      if (!visit(op, direction, *one.step.by_slot.front())) return;
    }
  }

  [[nodiscard]] bool wrote_finite(int op_index, Direction direction) const {
    const Op& op = batch_.graph.ops[static_cast<std::size_t>(op_index)];
    if (direction == Direction::forward)
      return view_is_finite(memory_.value(op.output, batch_.batch, 0));
    bool finite = true;
    for (const int input : op.inputs)
      finite &= view_is_finite(memory_.gradient(input, batch_.batch));
    for (const std::size_t p : memory_.parameters(op_index)) {
      finite &= view_is_finite(memory_.weight_gradient(p));
    }
    return finite;
  }

 private:
  // The same order as make_kernels() has: one kernel an action, two for a gradient that is added.
  void name_directions() {
    using Kind = BackwardAction::Kind;
    for (const BackwardAction& action : compilation_.gradients.actions) {
      if (action.kind == Kind::ready) continue;
      const bool sums = action.kind == Kind::add || action.kind == Kind::copy;
      backward_.push_back({sums ? -1 : action.op, action.kind == Kind::weights
                                                      ? Direction::backward_weights
                                                      : Direction::backward_data});
      if (action.kind == Kind::data_extra) backward_.push_back({-1, Direction::backward_data});
    }
    const auto kernels = std::ranges::count_if(
        set_.backward, [](const BackwardStep& step) { return step.ready < 0; });
    expects(kernels == std::ssize(backward_), "each kernel of backward has its action");
  }

  void copy_from_executor() {
    std::ranges::copy(batch_.executor.weights(), memory_.weights().begin());
    std::ranges::copy(batch_.executor.state(), memory_.state().begin());
    std::ranges::fill(memory_.gradients(), 0.0F);
    for (std::size_t p = 0; p < memory_.parameter_count(); ++p) {
      const View copy = memory_.kernel_weight(p);
      if (copy.dtype != DType::f32) batch_.backend.make_convert(memory_.weight(p), copy)->execute();
    }
    const InputSlot from = batch_.executor.slots()[static_cast<std::size_t>(batch_.slot)];
    const InputSlot to = memory_.slots().front();
    const Graph& graph = batch_.graph;
    const std::int64_t row = elements(graph.tensors[static_cast<std::size_t>(graph.input)].shape);
    const auto inputs = static_cast<std::size_t>(batch_.batch * row);
    if (from.x != nullptr) std::copy_n(from.x, inputs, to.x);
    if (from.tokens != nullptr) std::copy_n(from.tokens, inputs, to.tokens);
    std::copy_n(from.labels, static_cast<std::size_t>(batch_.batch * rows_of_output(graph)),
                to.labels);
    memory_.step = batch_.step;
  }

  static std::int64_t rows_of_output(const Graph& graph) {
    const Shape& outputs =
        graph.tensors[static_cast<std::size_t>(graph.ops.back().inputs[0])].shape;
    return elements(outputs) / outputs.back();
  }

  WalkedBatch batch_;
  Compilation compilation_;
  NetworkMemory memory_;
  KernelSet set_;
  std::vector<std::pair<int, Direction>> backward_;
};

}  // namespace

std::optional<std::string> first_not_finite(const WalkedBatch& batch) {
  if (batch.batch == 0) return std::nullopt;
  Walk walk(batch);
  std::optional<std::string> found;
  walk.run([&](int op, Direction direction, const Kernel&) {
    if (op < 0 || walk.wrote_finite(op, direction)) return true;
    found = batch.graph.ops[static_cast<std::size_t>(op)].name + " (" + to_string(direction) + ")";
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
    walk.run([&](int op, Direction direction, const Kernel& kernel) {
      const Seconds now = sys::now();
      if (op >= 0) {
        if (pass == 0) {
          times.push_back({.op = batch.graph.ops[static_cast<std::size_t>(op)].name,
                           .direction = to_string(direction),
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
