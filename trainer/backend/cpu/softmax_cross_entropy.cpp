// Loss of one sample: -log softmax(x)[label]. Gradient: (softmax(x) - onehot(label)) * scale.
//
// oneDNN's softmax does the exponentials; picking and subtracting at the label is ours.

#include <string>

#include "core/error.hpp"
#include "trainer/backend/cpu/operators.hpp"
#include "trainer/backend/cpu/simd.hpp"

namespace plimsoll::trainer::cpu {
namespace {

PLIMSOLL_WIDEST void scale_in_place(float* __restrict x, std::int64_t count, float factor) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) x[i] *= factor;
}

class Loss final : public Kernel {
 public:
  Loss(std::unique_ptr<Sequence> softmax, Cost cost, std::int64_t batch, std::int64_t classes,
       const std::int32_t* labels)
      : softmax_(std::move(softmax)),
        cost_(cost),
        batch_(batch),
        classes_(classes),
        labels_(labels) {}

  void forward(float* losses, const float* log_probabilities) {
    losses_ = losses;
    log_probabilities_ = log_probabilities;
  }
  void backward(float* dx, float scale) {
    dx_ = dx;
    scale_ = scale;
  }

  void execute() override {
    softmax_->execute();
    if (dx_ != nullptr) scale_in_place(dx_, batch_ * classes_, scale_);
    for (std::int64_t row = 0; row < batch_; ++row) {
      const std::int32_t label = labels_[row];
      expects(label >= 0 && label < classes_, "a label names one of the classes");
      const std::int64_t at = row * classes_ + label;
      if (dx_ != nullptr) {
        dx_[at] -= scale_;
      } else {
        losses_[row] = -log_probabilities_[at];
      }
    }
  }
  [[nodiscard]] Cost counted() const override { return cost_; }
  [[nodiscard]] std::string implementation() const override {
    return softmax_->implementation() + " + loop";
  }
  [[nodiscard]] Bytes scratch() const override { return softmax_->scratch(); }

 private:
  std::unique_ptr<Sequence> softmax_;
  Cost cost_;
  std::int64_t batch_, classes_;
  const std::int32_t* labels_;
  float* losses_ = nullptr;
  const float* log_probabilities_ = nullptr;
  float* dx_ = nullptr;
  float scale_ = 1.0F;
};

}  // namespace

KernelPtr make_softmax_cross_entropy(const Request& r, const SoftmaxCrossEntropy& loss) {
  if (r.direction == Direction::backward_weights) return nullptr;
  using Softmax = dnnl::softmax_v2_forward;
  const Operands& o = r.operands;
  if (o.labels == nullptr) {
    throw Error("operator '" + r.op.name + "' got no labels", "cpu backend",
                "set Operands::labels to one class per sample");
  }
  const bool forward = r.direction == Direction::forward;
  const std::int64_t count = r.x_elements();
  const Desc rows = f32({o.batch, loss.classes}, Tag::ab);
  const Softmax::primitive_desc chosen(
      Softmax::desc(dnnl::prop_kind::forward_inference,
                    forward ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate,
                    rows, rows, 1),
      own_scratchpad(), r.device.engine);

  auto sequence = std::make_unique<Sequence>(r.device);
  const dnnl::memory x = sequence->wrap(rows, r.need(o.x, count, "x"));
  const dnnl::memory result =
      forward ? sequence->own(rows) : sequence->wrap(rows, r.need(o.dx, count, "dx"));
  sequence->add<Softmax>(chosen, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, result}});

  // Forward: maximum, subtraction, exponential, sum, logarithm; backward: subtraction, scaling.
  const double elements = elements_of(chosen.src_desc());
  const auto labels = static_cast<double>(chosen.src_desc().dims()[0]);
  const Cost cost = forward ? Cost{Flop(5 * elements), Bytes(4 * (elements + labels) + 4 * labels)}
                            : Cost{Flop(2 * elements), Bytes(4 * 2 * elements + 4 * labels)};
  auto kernel = std::make_unique<Loss>(std::move(sequence), cost, o.batch, loss.classes, o.labels);
  auto* const values = static_cast<float*>(result.get_data_handle());
  if (forward) {
    kernel->forward(r.need(o.y, o.batch, "y"), values);
  } else {
    kernel->backward(values, o.loss_scale);
  }
  return kernel;
}

}  // namespace plimsoll::trainer::cpu
