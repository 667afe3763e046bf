// Compiles: steps on buffers of their own first, then buffers that may become one are joined, then
// all are placed by their lifetimes.

#include "trainer/execution/program.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "trainer/execution/liveness.hpp"

namespace plimsoll::trainer {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class T>
bool is(const Op& op) {
  return std::holds_alternative<T>(op.attributes);
}

constexpr std::array kOperands{&ProgramStep::x,  &ProgramStep::x2, &ProgramStep::y,
                               &ProgramStep::dx, &ProgramStep::dy, &ProgramStep::workspace,
                               &ProgramStep::dw};

// --- Steps ---------------------------------------------------------------------------------------
class Compiler {
 public:
  Compiler(const Graph& graph, const Backend& backend, const CompileOptions& o)
      : graph_(graph),
        backend_(backend),
        fusion_(plan_fusion(graph, backend, o.batch, o.dtype, o.mode, o.fuse)),
        value_(graph.tensors.size(), kNoBuffer),
        gradient_(graph.tensors.size(), kNoBuffer),
        workspace_(graph.ops.size(), kNoBuffer) {
    program_.batch = o.batch;
    program_.dtype = o.dtype;
    program_.mode = o.mode;
  }

  void forward() {
    value_[at(graph_.input)] = kInputSlot;
    const Tensor& input = graph_.tensors[at(graph_.input)];
    if (program_.dtype == DType::bf16 && !input.tokens) {
      const int half = buffer("input", graph_.input);
      push({.kind = ProgramStep::Kind::convert, .x = kInputSlot, .y = half});
      value_[at(graph_.input)] = half;
    }
    for (int i = 0; i < static_cast<int>(graph_.ops.size()); ++i) {
      const Op& op = op_at(i);
      if (is<Reshape>(op)) {
        value_[at(op.output)] = value_[at(op.inputs[0])];
      } else if (fusion_.into[at(i)] < 0) {
        push(forward_of(i));
      }
    }
    program_.forward_steps = static_cast<int>(program_.steps.size());
    program_.losses = value_[at(graph_.ops.back().output)];
    program_.scores = value_[at(graph_.ops.back().inputs[0])];
  }

  void backward() {
    plan_ = plan_gradients(graph_);
    using Kind = BackwardAction::Kind;
    for (const BackwardAction& action : plan_.actions) {
      switch (action.kind) {
        case Kind::weights:
          weights(action.op);
          break;
        case Kind::data:
          data(action.op, action.tensor < 0 ? kNoBuffer : gradient(action.tensor));
          break;
        case Kind::data_extra: {
          const int extra = buffer(name_of(action.tensor) + ".extra_gradient", action.tensor);
          data(action.op, extra);
          push({.kind = ProgramStep::Kind::accumulate, .x = extra, .y = gradient(action.tensor)});
          break;
        }
        case Kind::add:
          push({.kind = ProgramStep::Kind::accumulate,
                .x = gradient(action.from),
                .y = gradient(action.tensor)});
          break;
        case Kind::copy:
          push({.kind = ProgramStep::Kind::copy,
                .x = gradient(action.from),
                .y = gradient(action.tensor)});
          break;
        case Kind::ready:
          push({.kind = ProgramStep::Kind::ready, .op = action.op});
          break;
      }
    }
  }

  Program take() && { return std::move(program_); }

 private:
  [[nodiscard]] const Op& op_at(int op) const { return graph_.ops[at(op)]; }
  [[nodiscard]] const std::string& name_of(int tensor) const {
    return graph_.tensors[at(tensor)].name;
  }
  void push(ProgramStep step) { program_.steps.push_back(std::move(step)); }

  int buffer(const std::string& name, int tensor) {
    const bool loss = tensor == graph_.ops.back().output;
    return add({.name = name,
                .elements = program_.batch * elements(graph_.tensors[at(tensor)].shape),
                .dtype = loss ? DType::f32 : program_.dtype});
  }
  int add(ProgramBuffer one) {
    program_.buffers.push_back(std::move(one));
    return static_cast<int>(program_.buffers.size()) - 1;
  }
  int gradient(int tensor) {
    const int home = plan_.home[at(tensor)];
    expects(home >= 0, "a gradient that is used has a home");
    if (gradient_[at(home)] == kNoBuffer) {
      gradient_[at(home)] = buffer(name_of(home) + ".gradient", home);
    }
    return gradient_[at(home)];
  }

  ProgramStep forward_of(int i) {
    const Op& op = op_at(i);
    const int out = fusion_.writes[at(i)], residual = fusion_.residual[at(i)];
    ProgramStep step{.op = i, .activation = fusion_.activation[at(i)]};
    for (int other = i + 1; other < static_cast<int>(graph_.ops.size()); ++other) {
      if (fusion_.into[at(other)] == i) step.fused.push_back(other);
    }
    step.x = value_[at(op.inputs[0])];
    if (is<Add>(op)) step.x2 = value_[at(op.inputs[1])];
    if (residual >= 0) step.x2 = value_[at(residual)];
    step.y = value_[at(out)] = buffer(name_of(out), out);
    // In evaluation nothing is kept for backward; attention works on its own.
    if (program_.mode == Mode::train || is<Attention>(op)) {
      const Epilogue end{.activation = step.activation, .residual = residual >= 0};
      const auto bytes = static_cast<std::int64_t>(
          backend_.fused_workspace(graph_, op, end, program_.batch, program_.dtype).value());
      if (bytes > 0) {
        workspace_[at(i)] = add({.name = op.name + ".workspace", .elements = (bytes + 3) / 4});
      }
    }
    step.workspace = workspace_[at(i)];
    return step;
  }

  // The gradient that the kernel of this operator starts from.
  int gradient_of_output(int i) {
    if (i + 1 == static_cast<int>(graph_.ops.size())) return kNoBuffer;  // the loss
    const bool relu_too = is<BatchNorm>(op_at(i)) && fusion_.activation[at(i)] != Activation::none;
    return gradient(relu_too ? fusion_.writes[at(i)] : op_at(i).output);
  }

  void data(int i, int dx) {
    const Op& op = op_at(i);
    const int into = fusion_.into[at(i)];
    if (into >= 0 && is<BatchNorm>(op_at(into))) return;  // the norm's kernel does it
    ProgramStep step{.op = i, .direction = Direction::backward_data};
    if (is<BatchNorm>(op)) {
      step.activation = fusion_.activation[at(i)];
      if (step.activation != Activation::none) step.fused.push_back(i + 1);
    }
    if (is<BatchNorm>(op) || is<LayerNorm>(op) || is<Gelu>(op) || is<Attention>(op) ||
        is<SoftmaxCrossEntropy>(op)) {
      step.x = value_[at(op.inputs[0])];
    }
    if (is<Relu>(op)) step.y = value_[at(op.output)];
    step.dx = dx;
    step.dy = gradient_of_output(i);
    step.workspace = workspace_[at(i)];
    push(std::move(step));
  }

  // The second and later operators that share a table add their gradient to the first one's.
  void weights(int i) {
    const Op& op = op_at(i);
    const auto* const linear = std::get_if<Linear>(&op.attributes);
    const bool tied = linear != nullptr && !linear->tied_to.empty();
    const std::string table = tied ? linear->tied_to : op.name;
    ProgramStep step{.op = i, .direction = Direction::backward_weights};
    step.x = value_[at(op.inputs[0])];
    step.dy = gradient_of_output(i);
    if (written_.insert(table).second) return push(std::move(step));
    int parameter = 0;
    for (const Op& owner : graph_.ops) {
      if (owner.name == table) {
        step.dw = add({.name = op.name + ".table_gradient",
                       .elements = elements(owner.parameters.front().shape)});
        break;
      }
      parameter += static_cast<int>(owner.parameters.size());
    }
    const int extra = step.dw;
    push(std::move(step));
    push({.kind = ProgramStep::Kind::accumulate, .x = extra, .parameter = parameter});
  }

  const Graph& graph_;
  const Backend& backend_;
  Fusion fusion_;
  GradientPlan plan_;
  std::vector<int> value_, gradient_;  // buffer by tensor; gradients at their home
  std::vector<int> workspace_;         // by op
  std::set<std::string> written_;      // owners of tables that have a gradient already
  Program program_;
};

// --- Lifetimes -----------------------------------------------------------------------------------
void find_lifetimes(Program& program) {
  for (int s = 0; s < static_cast<int>(program.steps.size()); ++s) {
    for (const auto operand : kOperands) {
      const int id = program.steps[at(s)].*operand;
      if (id < 0) continue;
      ProgramBuffer& one = program.buffers[at(id)];
      if (one.first < 0) one.first = s;
      one.last = s;
    }
  }
  // Whoever asks for hits does so after forward, perhaps after backward.
  program.buffers[at(program.scores)].last = static_cast<int>(program.steps.size()) - 1;
}

// Inputs that a step's kernel may overwrite with its output.
std::vector<std::pair<int, int>> in_place(const Graph& graph, const ProgramStep& step) {
  if (step.kind != ProgramStep::Kind::kernel) return {};
  const Op& op = graph.ops[at(step.op)];
  if (step.direction == Direction::forward) {
    if (is<Relu>(op) || is<Dropout>(op)) return {{step.x, step.y}};
    if (is<Add>(op)) return {{step.x, step.y}, {step.x2, step.y}};
  }
  if (step.direction == Direction::backward_data &&
      (is<Relu>(op) || is<Gelu>(op) || is<Dropout>(op))) {
    return {{step.dy, step.dx}};
  }
  return {};
}

void join_buffers(const Graph& graph, Program& program) {
  for (int s = 0; s < static_cast<int>(program.steps.size()); ++s) {
    for (const auto& [from, to] : in_place(graph, program.steps[at(s)])) {
      if (from < 0 || to < 0 || from == to) continue;
      ProgramBuffer& kept = program.buffers[at(from)];
      ProgramBuffer& gone = program.buffers[at(to)];
      if (kept.last != s || gone.first != s || kept.dtype != gone.dtype ||
          kept.elements != gone.elements) {
        continue;
      }
      kept.last = gone.last;
      kept.name += "+" + gone.name;
      gone.first = gone.last = -1;
      for (std::size_t later = at(s); later < program.steps.size(); ++later) {
        for (const auto operand : kOperands) {
          if (program.steps[later].*operand == to) program.steps[later].*operand = from;
        }
      }
      if (program.scores == to) program.scores = from;
      if (program.losses == to) program.losses = from;
      break;
    }
  }
}

void drop_unused(Program& program) {
  std::vector<int> number(program.buffers.size(), kNoBuffer);
  std::vector<ProgramBuffer> used;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].first < 0) continue;
    number[i] = static_cast<int>(used.size());
    used.push_back(std::move(program.buffers[i]));
  }
  program.buffers = std::move(used);
  for (ProgramStep& step : program.steps) {
    for (const auto operand : kOperands) {
      if (step.*operand >= 0) step.*operand = number[at(step.*operand)];
    }
  }
  program.scores = number[at(program.scores)];
  program.losses = number[at(program.losses)];
}

void place_buffers(Program& program) {
  std::vector<Lifetime> lifetimes;
  for (const ProgramBuffer& one : program.buffers) {
    lifetimes.push_back({.bytes = one.bytes(), .first = one.first, .last = one.last});
  }
  const Placement placement = place(lifetimes);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    program.buffers[i].offset = placement.offsets[i];
  }
  program.arena_bytes = placement.bytes;
}

}  // namespace

Program compile(const Graph& graph, const Backend& backend, const CompileOptions& options) {
  Compiler compiler(graph, backend, options);
  compiler.forward();
  if (options.mode == Mode::train) compiler.backward();
  Program program = std::move(compiler).take();
  find_lifetimes(program);
  join_buffers(graph, program);
  drop_unused(program);
  place_buffers(program);
  return program;
}

}  // namespace plimsoll::trainer
