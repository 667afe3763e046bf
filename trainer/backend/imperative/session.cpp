// Calls of operators, forward.

#include "trainer/backend/imperative/session.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/error.hpp"

namespace plimsoll::trainer::imperative {
namespace {

template <class T>
bool is(const OpAttributes& attributes) {
  return std::holds_alternative<T>(attributes);
}

bool is_norm(const OpAttributes& a) { return is<BatchNorm>(a) || is<LayerNorm>(a); }

// What backward reads (backend.hpp): of a weight's gradient, its input.
bool backward_reads_x(const OpAttributes& a, bool trained) {
  if (is<Linear>(a) || is<Convolution>(a) || is_norm(a)) return true;
  return trained && (is<Gelu>(a) || is<Attention>(a) || is<SoftmaxCrossEntropy>(a));
}

float as_float(const View& view, std::int64_t i) {
  if (view.dtype == DType::f32) return static_cast<const float*>(view.data)[i];
  const auto half = static_cast<const std::uint16_t*>(view.data)[i];
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

}  // namespace

// --- Tensors -------------------------------------------------------------------------------------
void Tensor::wait() const { value_->session->engine().wait(value_->ticket); }
bool Tensor::ready() const { return value_->session->engine().done(value_->ticket); }
void Tensor::then(std::function<void()> callback) const {
  value_->session->engine().then(value_->ticket, std::move(callback));
}
View Tensor::view() const {
  wait();
  return value_->numbers.view;
}
std::vector<float> Tensor::values() const {
  const View at = view();
  std::vector<float> result(static_cast<std::size_t>(at.elements));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = as_float(at, static_cast<std::int64_t>(i));
  }
  return result;
}
double Tensor::sum() const {
  const View at = view();
  double total = 0;
  for (std::int64_t i = 0; i < at.elements; ++i) total += double{as_float(at, i)};
  return total;
}

// --- Session -------------------------------------------------------------------------------------
Session::~Session() { tape_.clear(); }

void Session::begin(Mode mode, const StepState& step) {
  engine_.wait(last_);  // queued calls read the step
  mode_ = mode;
  step_ = step;
  tape_.clear();
  trained_.clear();
  std::fill(unnamed_.begin(), unnamed_.end(), 0);
}

Numbers Session::fresh(std::int64_t elements, DType dtype) {
  Numbers numbers{.view = {.data = nullptr, .elements = elements, .dtype = dtype},
                  .storage = std::make_shared<Storage>(allocator_, elements * size_of(dtype))};
  numbers.view.data = numbers.storage->data();
  return numbers;
}

Tensor Session::input(const Shape& shape, std::int64_t batch, const View& numbers) {
  const auto value = std::make_shared<Value>();
  value->session = this;
  value->own_shape = shape;
  value->shape = &value->own_shape;
  value->batch = batch;
  value->variable = new_variable(false);
  if (dtype_ == numbers.dtype) {
    value->numbers.view = numbers;
    return Tensor(value);
  }
  value->numbers = fresh(numbers.elements, dtype_);
  Call call{.kind = Call::Kind::convert,
            .recipe = &recipes_.conversion(numbers.elements, numbers.dtype, dtype_)};
  call.operands.x = numbers;
  call.operands.y = value->numbers.view;
  value->ticket = submit(std::move(call));
  return Tensor(value);
}

Tensor Session::tokens(const Shape& shape, std::int64_t batch, const std::int32_t* tokens) {
  const auto value = std::make_shared<Value>();
  value->session = this;
  value->own_shape = shape;
  value->shape = &value->own_shape;
  value->batch = batch;
  value->tokens = tokens;
  value->variable = new_variable(false);
  return Tensor(value);
}

const std::string& Session::unnamed(const OpAttributes& attributes) {
  const int number = ++unnamed_[attributes.index()];
  const Op op{.name = {}, .attributes = attributes, .inputs = {}, .output = 0, .parameters = {}};
  return named(kind_of(op) + std::to_string(number));
}

Tensor Session::call(const CallOf& what) {
  const Value& x = what.inputs[0].value();
  Recipe& recipe = recipes_.of({.attributes = what.attributes,
                                .x = *x.shape,
                                .tokens = x.tokens != nullptr,
                                .batch = x.batch,
                                .dtype = dtype_,
                                .mode = mode_,
                                .name = what.name});
  if (what.inputs.size() > 1 && *what.inputs[1].value().shape != *x.shape) {
    throw usage_error("operator '" + what.name + "' takes two tensors of one shape",
                      "operator " + what.name, "add tensors of one shape");
  }
  const auto y = std::make_shared<Value>();
  y->session = this;
  y->shape = &recipe.y_shape();
  y->batch = x.batch;
  y->trained = !what.parameters.empty();
  for (const Tensor& input : what.inputs) y->trained = y->trained || input.value().trained;
  y->variable = new_variable(y->trained);
  Numbers workspace;
  if (is<Reshape>(what.attributes)) {  // no data moves
    y->numbers = x.numbers;
    y->ticket = x.ticket;
  } else {
    y->numbers = fresh(recipe.y_elements, recipe.y_dtype);
    if (recipe.workspace_floats > 0) workspace = fresh(recipe.workspace_floats, DType::f32);
    y->ticket = queue(what, recipe, y->numbers, workspace);
  }
  if (mode_ == Mode::train) write_down(what, recipe, *y, std::move(workspace));
  return Tensor(y);
}

Ticket Session::queue(const CallOf& what, Recipe& recipe, const Numbers& y,
                      const Numbers& workspace) {
  const Value& x = what.inputs[0].value();
  Call call{.recipe = &recipe, .name = &what.name};
  Operands& o = call.operands;
  o.batch = x.batch;
  o.mode = mode_;
  o.x = x.numbers.view;
  if (what.inputs.size() > 1) o.x2 = what.inputs[1].value().numbers.view;
  o.y = y.view;
  for (const Parameter* parameter : what.parameters) o.w.push_back(parameter->weight);
  for (const State& state : what.state) o.state.push_back(state.view);
  o.tokens = x.tokens;
  o.labels = what.labels;
  o.step = &step_;
  o.workspace = workspace.view;
  return submit(std::move(call));
}

void Session::write_down(const CallOf& what, Recipe& recipe, const Value& y, Numbers workspace) {
  const Value& x = what.inputs[0].value();
  Node node{.recipe = &recipe, .name = &what.name, .input = x.variable, .output = y.variable};
  node.trained = x.trained;
  if (what.inputs.size() > 1) {
    node.second_input = what.inputs[1].value().variable;
    node.trained = node.trained || what.inputs[1].value().trained;
  }
  if (backward_reads_x(what.attributes, node.trained)) node.x = x.numbers;
  if (is<Relu>(what.attributes)) node.y = y.numbers;
  node.workspace = std::move(workspace);
  node.parameters.assign(what.parameters.begin(), what.parameters.end());
  node.state.assign(what.state.begin(), what.state.end());
  node.tokens = x.tokens;
  node.labels = what.labels;
  tape_.push_back(std::move(node));
}

}  // namespace plimsoll::trainer::imperative
