// Loss of a row: -log softmax(x)[label]; of a sample: the mean over its rows.
// Gradient of a row: (softmax(x) - onehot(label)) * scale / rows of a sample.
//
// Loops of our own: a row's passes (largest; sum of exponentials; gradient) run in cache, and the
// exponentials of backward are computed anew rather than kept, which would double the traffic.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "trainer/backend/cpu/loop.hpp"
#include "trainer/backend/cpu/numbers.hpp"
#include "trainer/backend/cpu/operators.hpp"
#include "trainer/backend/cpu/simd.hpp"

namespace plimsoll::trainer::cpu {
namespace {

struct Normaliser {
  float largest, sum;  // softmax(x) = e^(x - largest) / sum
};

template <class T>
[[gnu::always_inline]] inline Normaliser normaliser_of(const T* row, std::int64_t classes) {
  float largest = wide(row[0]);
#pragma omp simd reduction(max : largest)
  for (std::int64_t c = 0; c < classes; ++c) {
    largest = wide(row[c]) > largest ? wide(row[c]) : largest;
  }
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < classes; ++c) sum += exponential(wide(row[c]) - largest);
  return {largest, sum};
}

template <class T>
[[gnu::always_inline]] inline void losses_of(float* losses, const T* x, const std::int32_t* labels,
                                             std::int64_t classes, std::int64_t begin,
                                             std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* const scores = x + row * classes;
    const Normaliser n = normaliser_of(scores, classes);
    losses[row] = std::log(n.sum) + (n.largest - wide(scores[labels[row]]));
  }
}

template <class T>
[[gnu::always_inline]] inline void gradients_of(T* dx, const T* x, const std::int32_t* labels,
                                                std::int64_t classes, float scale,
                                                std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* const scores = x + row * classes;
    T* const out = dx + row * classes;
    const Normaliser n = normaliser_of(scores, classes);
    const float factor = scale / n.sum;
    const float at_label = exponential(wide(scores[labels[row]]) - n.largest) * factor - scale;
#pragma omp simd
    for (std::int64_t c = 0; c < classes; ++c) {
      put(out[c], exponential(wide(scores[c]) - n.largest) * factor);
    }
    put(out[labels[row]], at_label);
  }
}

PLIMSOLL_WIDEST void forward(float* losses, const float* x, const std::int32_t* labels,
                             std::int64_t classes, std::int64_t begin, std::int64_t end) {
  losses_of(losses, x, labels, classes, begin, end);
}
PLIMSOLL_WIDEST void forward(float* losses, const Bf16* x, const std::int32_t* labels,
                             std::int64_t classes, std::int64_t begin, std::int64_t end) {
  losses_of(losses, x, labels, classes, begin, end);
}
PLIMSOLL_WIDEST void backward(float* dx, const float* x, const std::int32_t* labels,
                              std::int64_t classes, float scale, std::int64_t begin,
                              std::int64_t end) {
  gradients_of(dx, x, labels, classes, scale, begin, end);
}
PLIMSOLL_WIDEST void backward(Bf16* dx, const Bf16* x, const std::int32_t* labels,
                              std::int64_t classes, float scale, std::int64_t begin,
                              std::int64_t end) {
  gradients_of(dx, x, labels, classes, scale, begin, end);
}

struct Rows {
  std::int64_t samples, positions, classes;

  [[nodiscard]] std::int64_t count() const { return samples * positions; }
  // Before the team starts: no exception may leave a thread of it.
  void check(const std::int32_t* labels) const {
    for (std::int64_t row = 0; row < count(); ++row) {
      expects(labels[row] >= 0 && labels[row] < classes, "a label names one of the classes");
    }
  }
};

// Forward: largest, subtraction, exponential, sum and logarithm; backward: largest, the first
// three again to sum and once more for the value, and its scaling; one subtraction at the label.
Cost cost(const Rows& rows, bool forward, DType dtype) {
  const double elements = static_cast<double>(rows.count() * rows.classes);
  const auto each = static_cast<double>(size_of(dtype));
  const auto labels = static_cast<double>(rows.count());
  return forward
             ? Cost{Flop(5 * elements),
                    Bytes(each * elements + 4.0 * labels + 4.0 * static_cast<double>(rows.samples))}
             : Cost{Flop(7 * elements + labels), Bytes(each * 2 * elements + 4.0 * labels)};
}

template <class T>
KernelPtr forward_kernel(const Request& r, const Rows& rows) {
  const Operands& o = r.operands;
  static_cast<void>(r.need(o.x, r.x_elements(), "x", o.x.dtype));
  static_cast<void>(r.need(o.y, rows.samples, "y"));
  const int threads = r.device.threads;
  const bool single = rows.positions == 1;
  const auto own =
      std::make_shared<std::vector<float>>(static_cast<std::size_t>(single ? 0 : rows.count()));
  return std::make_unique<Loop>(
      o, cost(rows, true, o.x.dtype),
      [=](const Operands& at) {
        const auto* const x = in_place<const T>(at.x);
        float* const y = in_place<float>(at.y);
        float* const losses = single ? y : own->data();
        rows.check(at.labels);
        share(threads, rows.count(), 1, [&](std::int64_t begin, std::int64_t end, int) {
          forward(losses, x, at.labels, rows.classes, begin, end);
        });
        for (std::int64_t i = 0; i < std::ssize(*own); i += rows.positions) {
          double sum = 0;
          for (std::int64_t p = 0; p < rows.positions; ++p) sum += double{losses[i + p]};
          y[i / rows.positions] = static_cast<float>(sum / static_cast<double>(rows.positions));
        }
      },
      Bytes(static_cast<double>(own->size() * sizeof(float))));
}

template <class T>
KernelPtr backward_kernel(const Request& r, const Rows& rows) {
  const Operands& o = r.operands;
  static_cast<void>(r.need(o.x, r.x_elements(), "x", o.x.dtype));
  static_cast<void>(r.need(o.dx, r.x_elements(), "dx", o.x.dtype));
  const int threads = r.device.threads;
  const float scale = o.loss_scale / static_cast<float>(rows.positions);
  return std::make_unique<Loop>(o, cost(rows, false, o.x.dtype), [=](const Operands& at) {
    const auto* const x = in_place<const T>(at.x);
    auto* const dx = in_place<T>(at.dx);
    rows.check(at.labels);
    share(threads, rows.count(), 1, [&](std::int64_t begin, std::int64_t end, int) {
      backward(dx, x, at.labels, rows.classes, scale, begin, end);
    });
  });
}

}  // namespace

KernelPtr make_softmax_cross_entropy(const Request& r, const SoftmaxCrossEntropy& loss) {
  if (r.direction == Direction::backward_weights) return nullptr;
  const Operands& o = r.operands;
  if (o.labels == nullptr) {
    throw Error("operator '" + r.op.name + "' got no labels", "cpu backend",
                "set Operands::labels to one class per row");
  }
  const Rows rows{.samples = o.batch,
                  .positions = r.x_elements() / loss.classes / o.batch,
                  .classes = loss.classes};
  return with_type(o.x.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return r.direction == Direction::forward ? forward_kernel<T>(r, rows)
                                             : backward_kernel<T>(r, rows);
  });
}

}  // namespace plimsoll::trainer::cpu
