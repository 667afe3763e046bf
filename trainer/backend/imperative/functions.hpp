// The operators by name. Attributes follow from the shapes of the parameters; `name` is what
// errors and traces call the operator: with parameters theirs without the last part ("fc1" for
// "fc1.weight"), otherwise its kind and a number, unless one is given.

#pragma once

#include "trainer/backend/imperative/session.hpp"

namespace plimsoll::trainer::imperative {

[[nodiscard]] Tensor linear(const Tensor& x, const Parameter& weight,
                            const Parameter* bias = nullptr);
[[nodiscard]] Tensor convolution(const Tensor& x, const Parameter& weight, const Parameter* bias,
                                 std::int64_t stride = 1, std::int64_t padding = 0,
                                 std::int64_t groups = 1);
[[nodiscard]] Tensor pool(const Tensor& x, Pool::Mode mode, std::int64_t kernel,
                          std::int64_t stride, std::int64_t padding = 0);
[[nodiscard]] Tensor batch_norm(const Tensor& x, const Parameter& weight, const Parameter& bias,
                                const State& mean, const State& variance, double epsilon = 1e-5,
                                double momentum = 0.1);
[[nodiscard]] Tensor layer_norm(const Tensor& x, const Parameter& weight, const Parameter& bias,
                                double epsilon = 1e-5);
[[nodiscard]] Tensor relu(const Tensor& x);
[[nodiscard]] Tensor gelu(const Tensor& x, Gelu::Form form = Gelu::Form::tanh);
[[nodiscard]] Tensor add(const Tensor& left, const Tensor& right);
[[nodiscard]] Tensor embedding(const Tensor& tokens, const Parameter& table,
                               const Parameter* positions = nullptr);
[[nodiscard]] Tensor attention(const Tensor& qkv, std::int64_t heads, bool causal = true);
[[nodiscard]] Tensor dropout(const Tensor& x, double rate, const std::string& name = "");
[[nodiscard]] Tensor reshape(const Tensor& x, const Shape& shape);
[[nodiscard]] Tensor flatten(const Tensor& x);
// Labels as in Operands.
[[nodiscard]] Tensor softmax_cross_entropy(const Tensor& x, const std::int32_t* labels);

}  // namespace plimsoll::trainer::imperative
