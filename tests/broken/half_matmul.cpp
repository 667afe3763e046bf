// A backend whose linear layers sum over half of their inputs, and so gain time, behind the real
// kernel.matmul: the linker takes this make_cpu_backend() instead of the library's.

#include <memory>
#include <string>
#include <variant>

#include "trainer/backend/backend.hpp"

namespace plimsoll::trainer {
namespace {

class HalfMatmul final : public Kernel {
 public:
  HalfMatmul(const Linear& linear, const Operands& operands)
      : linear_(linear), operands_(operands) {}

  void execute() override {
    const auto* const x = static_cast<const float*>(operands_.x.data);
    const auto* const w = static_cast<const float*>(operands_.w[0].data);
    const auto* const bias = static_cast<const float*>(operands_.w[1].data);
    auto* const y = static_cast<float*>(operands_.y.data);
    const std::int64_t n = linear_.out_features, k = linear_.in_features;
    for (std::int64_t row = 0; row < operands_.batch; ++row) {
      for (std::int64_t column = 0; column < n; ++column) {
        float sum = bias[column];
        for (std::int64_t i = 0; i < k / 2; ++i) sum += x[row * k + i] * w[column * k + i];
        y[row * n + column] = sum;
      }
    }
  }
  [[nodiscard]] Cost counted() const override { return {}; }
  [[nodiscard]] std::string implementation() const override { return "half"; }

 private:
  Linear linear_;
  Operands operands_;
};

class HalfBackend final : public Backend {
 public:
  [[nodiscard]] std::string name() const override { return "lying"; }
  [[nodiscard]] Bytes workspace(const Graph&, const Op&, std::int64_t, DType) const override {
    return {};
  }
  [[nodiscard]] std::unique_ptr<Kernel> make_accumulate(const View&, const View&) const override {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<Kernel> make_convert(const View&, const View&) const override {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<Kernel> make(const Graph&, const Op& op, Direction,
                                             const Operands& operands) const override {
    return std::make_unique<HalfMatmul>(std::get<Linear>(op.attributes), operands);
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(int /*threads*/) {
  return std::make_unique<HalfBackend>();
}

}  // namespace plimsoll::trainer
