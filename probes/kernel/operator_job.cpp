// Lays the operands of an operator out as a training step would find them, and checks results.

#include "probes/kernel/operator_job.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "probes/kernel/oracle.hpp"

namespace plimsoll::probes {
namespace {

constexpr std::int64_t kCheckedOutputs = 16;  // spread over all of them, first and last included

// What must live as long as a kernel: the graph it refers to, labels, indices of largest elements.
struct Keep {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const trainer::Backend> backend;
  std::vector<std::int32_t> labels, tokens;
  std::vector<float> workspace;
  trainer::StepState step;
};

bool is_norm(const Op& op) {
  return std::holds_alternative<BatchNorm>(op.attributes) ||
         std::holds_alternative<LayerNorm>(op.attributes);
}
bool reads_x_backward(const Op& op) {
  return is_norm(op) || std::holds_alternative<Pool>(op.attributes) ||
         std::holds_alternative<Gelu>(op.attributes) ||
         std::holds_alternative<Attention>(op.attributes);
}

std::int64_t tensor_elements(const OperatorShape& shape, int tensor) {
  return shape.batch * elements(shape.graph->tensors[static_cast<std::size_t>(tensor)].shape);
}

// Forward reads what the operator before just wrote; backward gets its gradient just written.
trainer::Operands operands_of(const OperatorShape& shape, Placement& place) {
  const Op& op = shape.op();
  const std::int64_t x = tensor_elements(shape, op.inputs.front());
  const std::int64_t y = tensor_elements(shape, op.output);
  const bool loss = std::holds_alternative<SoftmaxCrossEntropy>(op.attributes);
  trainer::Operands o;
  o.batch = shape.batch;
  if (shape.direction == Direction::forward) {
    o.x = place.recent(x, shape.dtype);
    o.y = place.output(y, loss ? DType::f32 : shape.dtype);
    if (op.inputs.size() > 1) o.x2 = place.input(x, shape.dtype);
  } else if (loss) {
    o.x = place.recent(x, shape.dtype);
    o.dx = place.output(x, shape.dtype);
    o.loss_scale = 1.0F;
  } else {
    o.dy = place.recent(y, shape.dtype);
    if (shape.direction == Direction::backward_data) {
      o.dx = place.output(x, shape.dtype);
      if (std::holds_alternative<Relu>(op.attributes)) o.y = place.input(y, shape.dtype);
      if (reads_x_backward(op)) o.x = place.input(x, shape.dtype);
    } else {
      o.x = place.input(x, shape.dtype);
    }
  }
  for (const Parameter& parameter : op.parameters) {
    const std::int64_t count = elements(parameter.shape);
    const bool gradient = shape.direction == Direction::backward_weights ||
                          (is_norm(op) && shape.direction == Direction::backward_data);
    if (gradient) o.dw.push_back(place.output(count));
    if (shape.direction != Direction::backward_weights) {
      o.w.push_back(place.input(count, is_norm(op) ? DType::f32 : shape.dtype));
    }
  }
  for (const Parameter& state : op.state) o.state.push_back(place.output(elements(state.shape)));
  return o;
}

// What forward keeps for backward: places of largest elements, moments, probabilities.
void prepare_workspace(const OperatorShape& shape, Keep& keep, trainer::Operands& o,
                       Placement& place) {
  const auto bytes = static_cast<std::size_t>(
      keep.backend->workspace(*shape.graph, shape.op(), o.batch, shape.dtype).value());
  if (bytes == 0) return;
  keep.workspace.resize((bytes + 3) / 4);
  o.workspace = {.data = keep.workspace.data(),
                 .elements = static_cast<std::int64_t>(keep.workspace.size()),
                 .dtype = DType::f32};
  if (shape.direction == Direction::forward) return;
  trainer::Operands forward = o;
  forward.y = place.output(tensor_elements(shape, shape.op().output), shape.dtype);
  keep.backend->make(*shape.graph, shape.op(), Direction::forward, forward)->execute();
}

std::optional<std::string> check(const OperatorShape& shape, const trainer::Operands& operands,
                                 trainer::Kernel& kernel) {
  const Oracle oracle(*shape.graph, shape.op(), shape.direction, operands);
  const std::int64_t count = oracle.outputs();
  const std::int64_t checked = std::min(count, kCheckedOutputs);
  std::vector<std::int64_t> sampled;
  for (std::int64_t i = 0; i < checked; ++i) {
    sampled.push_back(checked == 1 ? 0 : i * (count - 1) / (checked - 1));
  }
  for (const std::int64_t output : sampled) oracle.poison(output);
  kernel.execute();
  for (const std::int64_t output : sampled) {
    if (oracle.agrees(output)) continue;
    return "output " + std::to_string(output) + " of " + std::to_string(count) + " is " +
           std::to_string(oracle.actual(output)) + " and should be " +
           std::to_string(oracle.expected(output).value);
  }
  return std::nullopt;
}

Job make_job(const OperatorShape& shape, const std::shared_ptr<const trainer::Backend>& backend,
             Placement& place) {
  const auto keep = std::make_shared<Keep>();
  keep->graph = shape.graph;
  keep->backend = backend;
  trainer::Operands operands = operands_of(shape, place);
  if (const auto* loss = std::get_if<SoftmaxCrossEntropy>(&shape.op().attributes)) {
    for (std::int64_t i = 0; i < operands.x.elements / loss->classes; ++i) {
      keep->labels.push_back(static_cast<std::int32_t>(i * 7 % loss->classes));
    }
    operands.labels = keep->labels.data();
  }
  if (const auto* table = std::get_if<Embedding>(&shape.op().attributes)) {
    const std::int64_t count = tensor_elements(shape, shape.op().inputs.front());
    for (std::int64_t i = 0; i < count; ++i) {
      keep->tokens.push_back(static_cast<std::int32_t>(i * 7919 % table->vocabulary));
    }
    operands.tokens = keep->tokens.data();
  }
  operands.step = &keep->step;
  prepare_workspace(shape, *keep, operands, place);
  Job job{.kernel = backend->make(*shape.graph, shape.op(), shape.direction, operands),
          .check = {}};
  job.check = [shape, operands, keep, kernel = job.kernel.get()] {
    return check(shape, operands, *kernel);
  };
  return job;
}

}  // namespace

std::int64_t OperatorShape::bytes() const {
  std::int64_t all =
      tensor_elements(*this, op().inputs.front()) * static_cast<std::int64_t>(op().inputs.size()) +
      tensor_elements(*this, op().output);
  for (const Parameter& parameter : op().parameters) all += 2 * elements(parameter.shape);
  return all * size_of(DType::f32);
}

std::unique_ptr<Rotation> operator_subject(std::shared_ptr<Crew> crew, const OperatorShape& shape,
                                           double work, const MakeBackend& make_backend) {
  const std::shared_ptr<const trainer::Backend> backend = make_backend(crew->load().threads);
  const MakeJob make = [&](Placement& place) { return make_job(shape, backend, place); };
  try {
    return std::make_unique<Rotation>(std::move(crew), make, work, backend->name());
  } catch (const Error& error) {
    if (shape.dtype == DType::f32) throw;
    throw NotApplicable(error.problem());
  }
}

}  // namespace plimsoll::probes
