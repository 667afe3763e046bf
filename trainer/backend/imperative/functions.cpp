// Attributes from shapes.

#include "trainer/backend/imperative/functions.hpp"

#include <array>

#include "core/error.hpp"

namespace plimsoll::trainer::imperative {
namespace {

// "fc1" for "fc1.weight".
std::string owner_of(const Parameter& parameter) {
  return parameter.name.substr(0, parameter.name.rfind('.'));
}

std::int64_t side(const Parameter& parameter, std::size_t axis) {
  if (axis < parameter.shape.size()) return parameter.shape[axis];
  throw usage_error(
      "parameter '" + parameter.name + "' has " + std::to_string(parameter.shape.size()) + " sides",
      "operator " + owner_of(parameter), "give it the shape of such a layer");
}

Tensor run(const OpAttributes& attributes, const std::string& name, std::span<const Tensor> inputs,
           std::span<const Parameter* const> parameters = {}, std::span<const State> state = {},
           const std::int32_t* labels = nullptr) {
  Session& session = inputs[0].session();
  return session.call({.attributes = attributes,
                       .name = name.empty() ? session.unnamed(attributes) : session.named(name),
                       .inputs = inputs,
                       .parameters = parameters,
                       .state = state,
                       .labels = labels});
}

std::vector<const Parameter*> some(const Parameter& first, const Parameter* second) {
  std::vector<const Parameter*> all{&first};
  if (second != nullptr) all.push_back(second);
  return all;
}

void fits(const Parameter& weight, std::int64_t wanted, std::int64_t given) {
  if (wanted == given) return;
  throw usage_error("parameter '" + weight.name + "' is for " + std::to_string(wanted) +
                        " inputs and gets " + std::to_string(given),
                    "operator " + owner_of(weight), "give it an input of that size");
}

}  // namespace

Tensor linear(const Tensor& x, const Parameter& weight, const Parameter* bias) {
  const std::int64_t out = side(weight, 0), in = side(weight, 1);
  fits(weight, in, x.shape().empty() ? 0 : x.shape().back());
  return run(Linear{.in_features = in, .out_features = out, .bias = bias != nullptr},
             owner_of(weight), {&x, 1}, some(weight, bias));
}

Tensor convolution(const Tensor& x, const Parameter& weight, const Parameter* bias,
                   std::int64_t stride, std::int64_t padding, std::int64_t groups) {
  const std::int64_t in = side(weight, 3) * groups;
  fits(weight, in, x.shape().empty() ? 0 : x.shape().back());
  return run(Convolution{.in_channels = in,
                         .out_channels = side(weight, 0),
                         .kernel = side(weight, 1),
                         .stride = stride,
                         .padding = padding,
                         .bias = bias != nullptr,
                         .groups = groups},
             owner_of(weight), {&x, 1}, some(weight, bias));
}

Tensor pool(const Tensor& x, Pool::Mode mode, std::int64_t kernel, std::int64_t stride,
            std::int64_t padding) {
  return run(Pool{mode, kernel, stride, padding}, "", {&x, 1});
}

Tensor batch_norm(const Tensor& x, const Parameter& weight, const Parameter& bias,
                  const State& mean, const State& variance, double epsilon, double momentum) {
  const std::array state{mean, variance};
  return run(BatchNorm{side(weight, 0), epsilon, momentum}, owner_of(weight), {&x, 1},
             some(weight, &bias), state);
}

Tensor layer_norm(const Tensor& x, const Parameter& weight, const Parameter& bias, double epsilon) {
  return run(LayerNorm{side(weight, 0), epsilon}, owner_of(weight), {&x, 1}, some(weight, &bias));
}

Tensor relu(const Tensor& x) { return run(Relu{}, "", {&x, 1}); }

Tensor gelu(const Tensor& x, Gelu::Form form) { return run(Gelu{form}, "", {&x, 1}); }

Tensor add(const Tensor& left, const Tensor& right) {
  const std::array inputs{left, right};
  return run(Add{}, "", inputs);
}

Tensor embedding(const Tensor& tokens, const Parameter& table, const Parameter* positions) {
  return run(Embedding{side(table, 0), side(table, 1), positions != nullptr}, owner_of(table),
             {&tokens, 1}, some(table, positions));
}

Tensor attention(const Tensor& qkv, std::int64_t heads, bool causal) {
  return run(Attention{heads, causal}, "", {&qkv, 1});
}

Tensor dropout(const Tensor& x, double rate, const std::string& name) {
  return run(Dropout{rate}, name, {&x, 1});
}

Tensor reshape(const Tensor& x, const Shape& shape) { return run(Reshape{shape}, "", {&x, 1}); }

Tensor flatten(const Tensor& x) { return reshape(x, {elements(x.shape())}); }

Tensor softmax_cross_entropy(const Tensor& x, const std::int32_t* labels) {
  const std::int64_t classes = x.shape().empty() ? 0 : x.shape().back();
  return run(SoftmaxCrossEntropy{classes}, "", {&x, 1}, {}, {}, labels);
}

}  // namespace plimsoll::trainer::imperative
