// Stochastic gradient descent with momentum: v = momentum v + g / batch; w -= rate v.
//
// g are sums over the global batch; the division by it happens here and nowhere else.

#pragma once

#include <cstdint>
#include <span>

#include "core/system/buffer.hpp"

namespace plimsoll::trainer {

struct SgdOptions {
  double learning_rate = 0.0;
  double momentum = 0.0;
  int threads = 1;
};

class Sgd {
 public:
  Sgd(std::int64_t parameters, const SgdOptions& options);
  void update(std::span<float> weights, std::span<const float> gradient_sums,
              std::int64_t global_batch);
  [[nodiscard]] Bytes memory() const;

 private:
  sys::Buffer velocity_;
  SgdOptions options_;
};

}  // namespace plimsoll::trainer
