// Random operands of one operator.

#include "tests/backend/fixture.hpp"

#include <random>
#include <utility>
#include <variant>

#include "core/error.hpp"
#include "probes/kernel/oracle.hpp"

namespace plimsoll::trainer::test {

Storage::Storage(std::int64_t elements, std::uint64_t seed, std::int64_t shift, DType dtype)
    : values_(static_cast<std::size_t>(elements + shift)),
      halves_(dtype == DType::bf16 ? values_.size() : 0),
      shift_(shift) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : values_) value = uniform(random);
  const View all{.data = halves_.data(), .elements = elements, .dtype = DType::bf16};
  for (std::size_t i = 0; i < halves_.size(); ++i) {
    probes::set_value(all, static_cast<std::int64_t>(i), double{values_[i]});
  }
}

View Storage::view() {
  const auto elements = static_cast<std::int64_t>(values_.size()) - shift_;
  if (halves_.empty()) return {.data = data(), .elements = elements, .dtype = DType::f32};
  return {.data = halves_.data() + shift_, .elements = elements, .dtype = DType::bf16};
}

Shaped linear(std::int64_t in, std::int64_t out, bool bias) {
  GraphBuilder builder({in});
  builder.linear("fc", builder.input(), out, bias);
  return {"linear " + std::to_string(in) + " to " + std::to_string(out),
          std::move(builder).build()};
}

Shaped convolution(std::int64_t side, std::int64_t in, Convolution a) {
  GraphBuilder builder({side, side + 1, in});  // not square: a swap of height and width is seen
  builder.convolution("conv", builder.input(), a.out_channels, a.kernel, a.stride, a.padding,
                      a.bias, a.groups);
  return {"convolution side " + std::to_string(side) + " " + std::to_string(in) + " to " +
              std::to_string(a.out_channels) + " kernel " + std::to_string(a.kernel) + " stride " +
              std::to_string(a.stride) + " padding " + std::to_string(a.padding) + " groups " +
              std::to_string(a.groups),
          std::move(builder).build()};
}

namespace {

Shaped pool(std::int64_t side, std::int64_t channels, Pool a) {
  GraphBuilder builder({side, side + 1, channels});
  builder.pool("pool", builder.input(), a.mode, a.kernel, a.stride, a.padding);
  const bool largest = a.mode == Pool::Mode::max;
  return {(largest ? "max pool " : "average pool ") + std::to_string(side) + " channels " +
              std::to_string(channels) + " padding " + std::to_string(a.padding),
          std::move(builder).build()};
}

// A graph of one operator on an input of this shape.
template <class Append>
Shaped one(const std::string& name, const Shape& input, const Append& append) {
  GraphBuilder builder(input);
  append(builder);
  return {name, std::move(builder).build()};
}

Shaped norm(bool batch, const Shape& shape) {
  return one((batch ? "batch norm of " : "layer norm of ") + std::to_string(shape.back()), shape,
             [&](GraphBuilder& g) {
               if (batch) {
                 g.batch_norm("norm", g.input());
               } else {
                 g.layer_norm("norm", g.input());
               }
             });
}
Shaped relu(const Shape& shape) {
  return one("relu", shape, [](GraphBuilder& g) { g.relu("relu", g.input()); });
}
Shaped gelu(const Shape& shape, Gelu::Form form) {
  return one(form == Gelu::Form::tanh ? "gelu tanh" : "gelu erf", shape,
             [&](GraphBuilder& g) { g.gelu("gelu", g.input(), form); });
}
Shaped sum(const Shape& shape) {
  return one("add", shape, [](GraphBuilder& g) { g.add("sum", g.input(), g.input()); });
}
Shaped dropout(const Shape& shape, double rate) {
  return one("dropout " + std::to_string(rate), shape,
             [&](GraphBuilder& g) { g.dropout("drop", g.input(), rate); });
}
Shaped attention(std::int64_t positions, std::int64_t features, std::int64_t heads, bool causal) {
  return one("attention of " + std::to_string(positions) + " heads " + std::to_string(heads) +
                 (causal ? " causal" : ""),
             {positions, 3 * features},
             [&](GraphBuilder& g) { g.attention("attention", g.input(), heads, causal); });
}
Shaped loss(const Shape& shape) {
  return one("loss of " + std::to_string(shape.back()), shape,
             [](GraphBuilder& g) { g.softmax_cross_entropy("loss", g.input()); });
}
Shaped embedding(std::int64_t positions, std::int64_t vocabulary, std::int64_t features,
                 bool with_positions) {
  GraphBuilder builder({positions}, true);
  builder.embedding("embedding", builder.input(), vocabulary, features, with_positions);
  return {"embedding of " + std::to_string(vocabulary), std::move(builder).build()};
}
Shaped tied(std::int64_t positions, std::int64_t vocabulary, std::int64_t features) {
  GraphBuilder builder({positions}, true);
  const int x = builder.embedding("embedding", builder.input(), vocabulary, features);
  builder.tied_linear("head", x, "embedding");
  return {"tied linear", std::move(builder).build()};
}

}  // namespace

bool computes_in(const Backend& backend, DType dtype) {
  const Shaped shaped = linear(7, 5);
  Fixture fixture(shaped.graph, 3, 1, 0, dtype);
  try {
    return fixture.make(backend, Direction::forward) != nullptr;
  } catch (const Error&) {
    return false;
  }
}

bool does_something(const Op& op, Direction direction) {
  const auto is = [&]<class A>(const A*) { return std::holds_alternative<A>(op.attributes); };
  const bool norm = is(static_cast<BatchNorm*>(nullptr)) || is(static_cast<LayerNorm*>(nullptr));
  switch (direction) {
    case Direction::forward:
      return true;
    case Direction::backward_data:
      return !is(static_cast<Add*>(nullptr)) && !is(static_cast<Embedding*>(nullptr));
    case Direction::backward_weights:
      return is(static_cast<Linear*>(nullptr)) || (!norm && !op.parameters.empty());
  }
  return false;
}

std::vector<Shaped> shapes() {
  std::vector<Shaped> all;
  for (const bool bias : {true, false}) {
    all.push_back(linear(1, 1, bias));
    all.push_back(linear(7, 5, bias));
    all.push_back(linear(33, 17, bias));
  }
  all.push_back(
      one("linear of positions", {3, 7}, [](GraphBuilder& g) { g.linear("fc", g.input(), 5); }));
  all.push_back(tied(3, 11, 5));
  // in, out, kernel, stride, padding, bias, groups
  all.push_back(convolution(4, 1, {1, 1, 1}));
  all.push_back(convolution(5, 5, {5, 3, 3}));
  all.push_back(convolution(7, 1, {1, 18, 3, 1, 1}));
  all.push_back(convolution(8, 5, {5, 7, 5, 2, 2}));
  all.push_back(convolution(6, 16, {16, 16, 3, 1, 0, false}));
  all.push_back(convolution(5, 3, {3, 6, 3, 1, 1, true, 3}));  // two outputs a channel
  all.push_back(convolution(6, 16, {16, 16, 3, 2, 1, false, 16}));
  all.push_back(convolution(5, 6, {6, 4, 3, 1, 0, true, 2}));
  all.push_back(convolution(7, 16, {16, 32, 1, 2, 0, false}));  // a residual's short cut
  for (const Pool::Mode mode : {Pool::Mode::max, Pool::Mode::average}) {
    all.push_back(pool(4, 1, {mode, 2, 2}));
    all.push_back(pool(5, 5, {mode, 2, 2}));  // the last row belongs to no window
    all.push_back(pool(6, 3, {mode, 3, 1}));  // windows overlap
    all.push_back(pool(5, 3, {mode, 3, 2, 1}));
  }
  all.push_back(norm(true, {2, 3, 5}));
  all.push_back(norm(true, {4, 3, 16}));
  all.push_back(norm(true, {7}));
  all.push_back(norm(true, {4, 7}));
  for (const std::int64_t features : {5, 33}) all.push_back(norm(false, {3, features}));
  all.push_back(norm(false, {2, 2, 17}));
  all.push_back(relu({3, 2, 5}));
  all.push_back(gelu({3, 7}, Gelu::Form::tanh));
  all.push_back(gelu({19}, Gelu::Form::erf));
  all.push_back(sum({3, 11}));
  all.push_back(dropout({5, 7}, 0.3));
  all.push_back(dropout({9}, 0));
  for (const bool positions : {true, false}) all.push_back(embedding(3, 7, 5, positions));
  for (const bool causal : {true, false}) {
    all.push_back(attention(1, 2, 1, causal));
    all.push_back(attention(5, 6, 2, causal));
  }
  for (const std::int64_t classes : {2, 10, 33}) all.push_back(loss({classes}));
  all.push_back(loss({3, 7}));
  return all;
}

std::vector<Shaped> large_shapes() {
  std::vector<Shaped> all{linear(301, 203),
                          convolution(13, 9, {9, 23, 3}),
                          convolution(13, 32, {32, 32, 3, 1, 1, false, 32}),
                          pool(27, 11, {Pool::Mode::max, 2, 2}),
                          pool(27, 11, {Pool::Mode::average, 3, 2, 1}),
                          norm(true, {11, 13, 24}),
                          norm(false, {33, 129}),
                          relu({29, 31, 5}),
                          gelu({29, 131}, Gelu::Form::tanh),
                          sum({29, 31, 5}),
                          dropout({29, 31, 5}, 0.5),
                          embedding(33, 91, 131, true),
                          attention(70, 48, 3, true),
                          attention(150, 8, 1, true),  // more than one block of rows
                          attention(150, 8, 1, false),
                          loss({3001}),
                          loss({33, 91})};
  return all;
}

Fixture::Fixture(const Graph& graph, std::int64_t batch, std::uint64_t seed, std::int64_t shift,
                 DType dtype)
    : graph_(graph), seed_(seed), shift_(shift), dtype_(dtype) {
  const auto sized = [&](int id) {
    return batch * elements(graph.tensors[static_cast<std::size_t>(id)].shape);
  };
  const std::int64_t x = sized(op().inputs.front()), y = sized(op().output);
  const bool loss = std::holds_alternative<SoftmaxCrossEntropy>(op().attributes);
  operands.batch = batch;
  operands.x = add(x, dtype);
  operands.y = add(y, loss ? DType::f32 : dtype);
  operands.dx = add(x, dtype);
  operands.dy = add(y, loss ? DType::f32 : dtype);
  if (op().inputs.size() > 1) operands.x2 = add(x, dtype);
  operands.step = &step;
  add_parameters();
  add_indices();
}

void Fixture::add_parameters() {
  std::vector<Shape> all;
  for (const Parameter& parameter : op().parameters) all.push_back(parameter.shape);
  const auto* const linear = std::get_if<Linear>(&op().attributes);
  if (linear != nullptr && !linear->tied_to.empty()) {
    all.push_back({linear->out_features, linear->in_features});
  }
  const bool norm = std::holds_alternative<BatchNorm>(op().attributes) ||
                    std::holds_alternative<LayerNorm>(op().attributes);
  for (const Shape& shape : all) {
    operands.w.push_back(add(elements(shape), norm ? DType::f32 : dtype_));
    operands.dw.push_back(add(elements(shape), DType::f32));
  }
  for (const Parameter& state : op().state) {
    operands.state.push_back(add(elements(state.shape), DType::f32));
    auto* const values = static_cast<float*>(operands.state.back().data);
    for (std::int64_t i = 0; i < operands.state.back().elements; ++i) values[i] += 1.5F;
  }
}

void Fixture::add_indices() {
  std::mt19937_64 random(seed_);
  const auto fill = [&](std::vector<std::int32_t>& indices, std::int64_t count,
                        std::int64_t below) {
    std::uniform_int_distribution<std::int32_t> any(0, static_cast<std::int32_t>(below) - 1);
    for (std::int64_t i = 0; i < count; ++i) indices.push_back(any(random));
  };
  if (const auto* loss = std::get_if<SoftmaxCrossEntropy>(&op().attributes)) {
    fill(labels_, operands.x.elements / loss->classes, loss->classes);
    operands.labels = labels_.data();
    operands.loss_scale = 0.25F;
  }
  if (const auto* table = std::get_if<Embedding>(&op().attributes)) {
    fill(tokens_, operands.x.elements, table->vocabulary);
    operands.tokens = tokens_.data();
    operands.x = {};
  }
}

View Fixture::add(std::int64_t elements, DType dtype) {
  storage_.push_back(
      std::make_unique<Storage>(elements, seed_ * 100 + storage_.size(), shift_, dtype));
  return storage_.back()->view();
}

std::unique_ptr<Kernel> Fixture::make(const Backend& backend, Direction direction) {
  const auto bytes =
      static_cast<std::size_t>(backend.workspace(graph_, op(), operands.batch, dtype_).value());
  if (bytes > workspace_.size()) {
    workspace_.resize((bytes + 3) / 4 * 4);
    operands.workspace = {.data = workspace_.data(),
                          .elements = static_cast<std::int64_t>(workspace_.size() / 4),
                          .dtype = DType::f32};
  }
  return backend.make(graph_, op(), direction, operands);
}

void Fixture::run_forward(const Backend& backend) {
  if (const auto kernel = make(backend, Direction::forward)) kernel->execute();
}

}  // namespace plimsoll::trainer::test
