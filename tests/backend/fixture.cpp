// Random operands of one operator.

#include "tests/backend/fixture.hpp"

#include <random>
#include <variant>

namespace plimsoll::trainer::test {

Storage::Storage(std::int64_t elements, std::uint64_t seed, std::int64_t shift)
    : values_(static_cast<std::size_t>(elements + shift)), shift_(shift) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : values_) value = uniform(random);
}

View Storage::view() {
  return {.data = data(),
          .elements = static_cast<std::int64_t>(values_.size()) - shift_,
          .dtype = DType::f32};
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
                      a.bias);
  return {"convolution side " + std::to_string(side) + " " + std::to_string(in) + " to " +
              std::to_string(a.out_channels) + " kernel " + std::to_string(a.kernel) + " stride " +
              std::to_string(a.stride) + " padding " + std::to_string(a.padding),
          std::move(builder).build()};
}

namespace {

Shaped pool(std::int64_t side, std::int64_t channels, Pool a) {
  GraphBuilder builder({side, side + 1, channels});
  builder.pool("pool", builder.input(), a.mode, a.kernel, a.stride);
  const bool largest = a.mode == Pool::Mode::max;
  return {(largest ? "max pool " : "average pool ") + std::to_string(side) + " channels " +
              std::to_string(channels),
          std::move(builder).build()};
}

}  // namespace

std::vector<Shaped> shapes() {
  std::vector<Shaped> all;
  for (const bool bias : {true, false}) {
    all.push_back(linear(1, 1, bias));
    all.push_back(linear(7, 5, bias));
    all.push_back(linear(33, 17, bias));
  }
  all.push_back(convolution(4, 1, {.in_channels = 1, .out_channels = 1, .kernel = 1}));
  all.push_back(convolution(5, 5, {.in_channels = 5, .out_channels = 3, .kernel = 3}));
  all.push_back(convolution(
      7, 1, {.in_channels = 1, .out_channels = 18, .kernel = 3, .stride = 1, .padding = 1}));
  all.push_back(convolution(
      8, 5, {.in_channels = 5, .out_channels = 7, .kernel = 5, .stride = 2, .padding = 2}));
  all.push_back(convolution(6, 16,
                            {.in_channels = 16,
                             .out_channels = 16,
                             .kernel = 3,
                             .stride = 1,
                             .padding = 0,
                             .bias = false}));
  for (const Pool::Mode mode : {Pool::Mode::max, Pool::Mode::average}) {
    all.push_back(pool(4, 1, {mode, 2, 2}));
    all.push_back(pool(5, 5, {mode, 2, 2}));  // the last row belongs to no window
    all.push_back(pool(6, 3, {mode, 3, 1}));  // windows overlap
  }
  {
    GraphBuilder builder({3, 2, 5});
    builder.relu("relu", builder.input());
    all.push_back({"relu", std::move(builder).build()});
  }
  for (const std::int64_t classes : {2, 10, 33}) {
    GraphBuilder builder({classes});
    builder.softmax_cross_entropy("loss", builder.input());
    all.push_back({"loss of " + std::to_string(classes), std::move(builder).build()});
  }
  return all;
}

std::vector<Shaped> large_shapes() {
  std::vector<Shaped> all{
      linear(301, 203), convolution(13, 9, {.in_channels = 9, .out_channels = 23, .kernel = 3}),
      pool(27, 11, {Pool::Mode::max, 2, 2}), pool(27, 11, {Pool::Mode::average, 2, 2})};
  GraphBuilder rectifier({29, 31, 5});
  rectifier.relu("relu", rectifier.input());
  all.push_back({"relu", std::move(rectifier).build()});
  GraphBuilder scores({3001});
  scores.softmax_cross_entropy("loss", scores.input());
  all.push_back({"loss of 3001", std::move(scores).build()});
  return all;
}

Fixture::Fixture(const Graph& graph, std::int64_t batch, std::uint64_t seed, std::int64_t shift)
    : graph_(graph), seed_(seed), shift_(shift) {
  const auto sized = [&](int id) {
    return batch * elements(graph.tensors[static_cast<std::size_t>(id)].shape);
  };
  const std::int64_t x = sized(op().inputs.front()), y = sized(op().output);
  operands.batch = batch;
  operands.x = add(x).view();
  operands.y = add(y).view();
  operands.dx = add(x).view();
  operands.dy = add(y).view();
  for (const Parameter& parameter : op().parameters) {
    operands.w.push_back(add(elements(parameter.shape)).view());
    operands.dw.push_back(add(elements(parameter.shape)).view());
  }
  if (const auto* loss = std::get_if<SoftmaxCrossEntropy>(&op().attributes)) {
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::int32_t> label(0,
                                                      static_cast<std::int32_t>(loss->classes) - 1);
    for (std::int64_t i = 0; i < batch; ++i) labels_.push_back(label(random));
    operands.labels = labels_.data();
    operands.loss_scale = 0.25F;
  }
}

Storage& Fixture::add(std::int64_t elements) {
  storage_.push_back(std::make_unique<Storage>(elements, seed_ * 100 + storage_.size(), shift_));
  return *storage_.back();
}

std::unique_ptr<Kernel> Fixture::make(const Backend& backend, Direction direction) {
  const auto bytes =
      static_cast<std::size_t>(backend.workspace(graph_, op(), operands.batch, DType::f32).value());
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
