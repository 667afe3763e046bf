// Makes kernels in execution order.

#include "trainer/execution/kernel_set.hpp"

#include <cstring>
#include <functional>
#include <set>

#include "core/error.hpp"

namespace plimsoll::trainer {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Copy final : public Kernel {
 public:
  Copy(const View& to, const View& from) : to_(to), from_(from) {}
  void execute() override {
    std::memcpy(to_.data, from_.data, at(to_.elements * size_of(to_.dtype)));
  }
  [[nodiscard]] Cost counted() const override { return {}; }
  [[nodiscard]] std::string implementation() const override { return "copy"; }

 private:
  View to_, from_;
};

// Writes to memory of its own and adds that to where other operators have written before.
class Added final : public Kernel {
 public:
  // By value: make() may well change the operands that `sum` came from.
  Added(const Backend& backend, View sum,
        const std::function<std::unique_ptr<Kernel>(const View&)>& make)
      : own_(at(sum.elements)) {
    const View term{.data = own_.data(), .elements = sum.elements};
    kernel_ = make(term);
    add_ = backend.make_accumulate(sum, term);
  }
  void execute() override {
    kernel_->execute();
    add_->execute();
  }
  [[nodiscard]] Cost counted() const override { return kernel_->counted(); }
  [[nodiscard]] std::string implementation() const override {
    return kernel_->implementation() + " + add";
  }
  [[nodiscard]] Bytes scratch() const override {
    return kernel_->scratch() + Bytes(4.0 * static_cast<double>(own_.size()));
  }

 private:
  std::vector<float> own_;
  std::unique_ptr<Kernel> kernel_, add_;
};

class Maker {
 public:
  Maker(const Graph& graph, const Backend& backend, const NetworkMemory& memory,
        const Compilation& compilation, std::int64_t batch, Mode mode)
      : graph_(graph),
        backend_(backend),
        memory_(memory),
        compilation_(compilation),
        batch_(batch),
        mode_(mode) {}

  void forward() {
    convert_input();
    for (int i = 0; i < static_cast<int>(graph_.ops.size()); ++i) {
      if (!computes(graph_, op_at(i), Direction::forward)) continue;
      if (compilation_.fusion.computed_by[at(i)] >= 0) continue;
      set_.forward.push_back(make(i, Direction::forward, [](Operands&) {}));
    }
  }

  void backward() {
    using Kind = BackwardAction::Kind;
    for (const BackwardAction& action : compilation_.gradients.actions) {
      switch (action.kind) {
        case Kind::weights:
          push(weights(action.op));
          break;
        case Kind::data:
          push(make(action.op, Direction::backward_data, [](Operands&) {}));
          break;
        case Kind::data_extra:
          push(make(action.op, Direction::backward_data,
                    [&](Operands& o) { o.dx = memory_.scratch(action.tensor, batch_); }));
          push(single(backend_.make_accumulate(memory_.gradient(action.tensor, batch_),
                                               memory_.scratch(action.tensor, batch_)),
                      action.op));
          break;
        case Kind::add:
          push(single(backend_.make_accumulate(memory_.gradient(action.tensor, batch_),
                                               memory_.gradient(action.from, batch_)),
                      action.op));
          break;
        case Kind::copy:
          push(single(std::make_unique<Copy>(memory_.gradient(action.tensor, batch_),
                                             memory_.gradient(action.from, batch_)),
                      action.op));
          break;
        case Kind::ready:
          set_.backward.push_back({.step = {}, .ready = action.op});
          break;
      }
    }
  }

  KernelSet take() && { return std::move(set_); }

 private:
  using Adjust = std::function<void(Operands&)>;

  [[nodiscard]] const Op& op_at(int op) const { return graph_.ops[at(op)]; }
  void push(Step step) { set_.backward.push_back({.step = std::move(step)}); }

  void note(const Kernel& kernel, const std::string& name) {
    set_.flop += kernel.counted().flop;
    set_.scratch += kernel.scratch();
    if (!name.empty()) set_.implementations[name] = kernel.implementation();
  }

  Step single(std::unique_ptr<Kernel> kernel, int op) {
    note(*kernel, "");
    Step step{.op = op, .by_slot = {}};
    step.by_slot.push_back(std::move(kernel));
    return step;
  }

  Step make(int op_index, Direction direction, const Adjust& adjust) {
    const Op& op = op_at(op_index);
    Step step{.op = op_index, .by_slot = {}};
    const int slots = memory_.reads_slot(op) ? static_cast<int>(memory_.slots().size()) : 1;
    for (int slot = 0; slot < slots; ++slot) {
      Operands operands = memory_.operands(op_index, batch_, slot, mode_);
      adjust(operands);
      auto kernel = backend_.make(graph_, op, direction, operands);
      expects(kernel != nullptr, "the backend makes every direction that computes");
      if (slot == 0) note(*kernel, op.name + "." + to_string(direction));
      step.by_slot.push_back(std::move(kernel));
    }
    return step;
  }

  // The second and later operators that share a table add their gradient to the first one's.
  Step weights(int op_index) {
    const std::vector<std::size_t>& parameters = memory_.parameters(op_index);
    const bool first = written_.insert(parameters.front()).second;
    if (first) return make(op_index, Direction::backward_weights, [](Operands&) {});
    const Op& op = op_at(op_index);
    Step step{.op = op_index, .by_slot = {}};
    for (int slot = 0; slot < static_cast<int>(memory_.slots().size()); ++slot) {
      Operands operands = memory_.operands(op_index, batch_, slot, mode_);
      step.by_slot.push_back(
          std::make_unique<Added>(backend_, operands.dw.front(), [&](const View& own) {
            operands.dw.front() = own;
            return backend_.make(graph_, op, Direction::backward_weights, operands);
          }));
      if (slot == 0) note(*step.by_slot.back(), op.name + ".backward_weights");
    }
    return step;
  }

  // The input in the type that kernels read.
  void convert_input() {
    const View wanted = memory_.value(graph_.input, batch_, 0);
    if (wanted.dtype == DType::f32) return;
    Step step;
    for (const InputSlot& slot : memory_.slots()) {
      step.by_slot.push_back(
          backend_.make_convert({.data = slot.x, .elements = wanted.elements}, wanted));
    }
    set_.forward.push_back(std::move(step));
  }

  const Graph& graph_;
  const Backend& backend_;
  const NetworkMemory& memory_;
  const Compilation& compilation_;
  const std::int64_t batch_;
  const Mode mode_;
  std::set<std::size_t> written_;  // first parameters whose gradient some operator has written
  KernelSet set_;
};

}  // namespace

KernelSet make_kernels(const Graph& graph, const Backend& backend, const NetworkMemory& memory,
                       const Compilation& compilation, std::int64_t batch, Mode mode) {
  Maker maker(graph, backend, memory, compilation, batch, mode);
  maker.forward();
  if (mode == Mode::train) maker.backward();
  return std::move(maker).take();
}

}  // namespace plimsoll::trainer
