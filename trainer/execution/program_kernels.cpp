// Makes kernels in execution order.

#include "trainer/execution/program_kernels.hpp"

#include <cstring>
#include <utility>

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

class Maker {
 public:
  Maker(const Graph& graph, const Backend& backend, const NetworkState& state,
        const Program& program, std::byte* arena)
      : graph_(graph), backend_(backend), state_(state), program_(program), arena_(arena) {}

  ProgramKernels make() && {
    for (const ProgramStep& step : program_.steps) kernels_.steps.push_back(bound(step));
    return std::move(kernels_);
  }

 private:
  // Null where there is no buffer; the slot's rows where the input is one.
  [[nodiscard]] View view(int id, int slot) const {
    if (id >= 0) return view_of(program_.buffers[at(id)], arena_);
    if (id == kNoBuffer) return {};
    return {.data = state_.slots()[at(slot)].x,
            .elements = program_.batch * elements(graph_.tensors[at(graph_.input)].shape)};
  }

  BoundStep bound(const ProgramStep& step) {
    BoundStep result;
    switch (step.kind) {
      case ProgramStep::Kind::ready:
        result.ready = step.op;
        return result;
      case ProgramStep::Kind::kernel:
        return kernel(step);
      case ProgramStep::Kind::convert:
        for (int slot = 0; slot < slots(); ++slot) {
          result.by_slot.push_back(backend_.make_convert(view(step.x, slot), view(step.y, slot)));
        }
        break;
      case ProgramStep::Kind::accumulate: {
        const View sum =
            step.parameter < 0 ? view(step.y, 0) : state_.weight_gradient(at(step.parameter));
        result.by_slot.push_back(backend_.make_accumulate(sum, view(step.x, 0)));
        break;
      }
      case ProgramStep::Kind::copy:
        result.by_slot.push_back(std::make_unique<Copy>(view(step.y, 0), view(step.x, 0)));
        break;
    }
    // What a tied table's second gradient costs is the table's, not an activation's.
    if (step.parameter < 0) kernels_.flop += result.by_slot.front()->counted().flop;
    for (const auto& one : result.by_slot) kernels_.scratch += one->scratch();
    return result;
  }

  BoundStep kernel(const ProgramStep& step) {
    const Op& op = graph_.ops[at(step.op)];
    BoundStep result;
    for (int slot = 0; slot < (reads_slot(step) ? slots() : 1); ++slot) {
      auto one = backend_.make(graph_, op, step.direction, operands(step, slot));
      expects(one != nullptr, "the backend makes every direction that computes");
      kernels_.scratch += one->scratch();
      result.by_slot.push_back(std::move(one));
    }
    const Kernel& first = *result.by_slot.front();
    kernels_.flop += first.counted().flop;
    std::string& name = kernels_.implementations[op.name + "." + to_string(step.direction)];
    name = first.implementation();
    for (const int fused : step.fused) name += " + " + graph_.ops[at(fused)].name;
    return result;
  }

  [[nodiscard]] int slots() const { return static_cast<int>(state_.slots().size()); }
  [[nodiscard]] bool reads_slot(const ProgramStep& step) const {
    const Op& op = graph_.ops[at(step.op)];
    return step.x == kInputSlot || step.x2 == kInputSlot ||
           std::holds_alternative<SoftmaxCrossEntropy>(op.attributes);
  }

  [[nodiscard]] Operands operands(const ProgramStep& step, int slot) const {
    Operands o;
    o.batch = program_.batch;
    o.mode = program_.mode;
    o.activation = step.activation;
    o.x = view(step.x, slot);
    o.x2 = view(step.x2, slot);
    o.y = view(step.y, slot);
    o.dx = view(step.dx, slot);
    o.dy = view(step.dy, slot);
    o.workspace = view(step.workspace, slot);
    for (const std::size_t parameter : state_.parameters(step.op)) {
      o.w.push_back(state_.kernel_weight(parameter));
      o.dw.push_back(state_.weight_gradient(parameter));
    }
    if (step.dw >= 0) o.dw.front() = view(step.dw, slot);
    o.state = state_.op_state(step.op);
    o.tokens = state_.slots()[at(slot)].tokens;
    o.labels = state_.slots()[at(slot)].labels;
    o.step = &state_.step;
    return o;
  }

  const Graph& graph_;
  const Backend& backend_;
  const NetworkState& state_;
  const Program& program_;
  std::byte* arena_;
  ProgramKernels kernels_;
};

}  // namespace

View view_of(const ProgramBuffer& buffer, std::byte* arena) {
  return {.data = arena + buffer.offset, .elements = buffer.elements, .dtype = buffer.dtype};
}

ProgramKernels make_kernels(const Graph& graph, const Backend& backend, const NetworkState& state,
                            const Program& program, std::byte* arena) {
  return Maker(graph, backend, state, program, arena).make();
}

}  // namespace plimsoll::trainer
