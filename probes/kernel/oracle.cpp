// Every operator by its definition.

#include "probes/kernel/oracle.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <variant>

#include "core/error.hpp"

namespace plimsoll::probes {
namespace {

// Rounding of sums in f32, in units of the sum of magnitudes: 2^-24 an addition, and blocked sums
// of up to a million terms stay far below a hundred of them.
constexpr double kSumTolerance = 1e-5;
constexpr double kBf16Rounding = 1.0 / 256;  // half a unit in the last of 8 bits, relative

bool is_norm(const Op& op) {
  return std::holds_alternative<BatchNorm>(op.attributes) ||
         std::holds_alternative<LayerNorm>(op.attributes);
}

// Index of a pixel in NHWC.
struct Image {
  std::int64_t height, width, channels;

  [[nodiscard]] std::int64_t at(std::int64_t sample, std::int64_t y, std::int64_t x,
                                std::int64_t channel) const {
    return ((sample * height + y) * width + x) * channels + channel;
  }
  [[nodiscard]] bool holds(std::int64_t y, std::int64_t x) const {
    return y >= 0 && y < height && x >= 0 && x < width;
  }
};

struct Pixel {
  std::int64_t sample, y, x, channel;
};

Image image_of(const Shape& shape) { return {shape[0], shape[1], shape[2]}; }

Pixel pixel_of(const Image& image, std::int64_t index) {
  const std::int64_t channel = index % image.channels;
  const std::int64_t x = index / image.channels % image.width;
  const std::int64_t y = index / image.channels / image.width % image.height;
  return {index / image.channels / image.width / image.height, y, x, channel};
}

// Window positions along one axis whose window covers `position`: first and one past the last.
struct Span {
  std::int64_t begin, end;
};
Span windows_over(std::int64_t position, std::int64_t kernel, std::int64_t stride,
                  std::int64_t count) {
  const std::int64_t low = position - kernel + 1;
  const std::int64_t begin = low <= 0 ? 0 : (low + stride - 1) / stride;
  return {begin, std::min(count, position / stride + 1)};
}

}  // namespace

double value_at(const trainer::View& view, std::int64_t index) {
  if (view.dtype == DType::f32) return static_cast<const float*>(view.data)[index];
  const auto half = static_cast<const std::uint16_t*>(view.data)[index];
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

void set_value(const trainer::View& view, std::int64_t index, double value) {
  const auto single = static_cast<float>(value);
  if (view.dtype == DType::f32) {
    static_cast<float*>(view.data)[index] = single;
    return;
  }
  // Nearest value, ties away from zero; NaN keeps its leading bits.
  const auto bits = std::bit_cast<std::uint32_t>(single);
  const std::uint32_t rounded = std::isnan(single) ? bits : bits + 0x8000U;
  static_cast<std::uint16_t*>(view.data)[index] = static_cast<std::uint16_t>(rounded >> 16);
}

Oracle::Oracle(const Graph& graph, const Op& op, Direction direction,
               const trainer::Operands& operands)
    : graph_(graph), op_(op), direction_(direction), operands_(operands) {}

const Shape& Oracle::shape(int tensor) const {
  return graph_.tensors[static_cast<std::size_t>(tensor)].shape;
}

std::int64_t Oracle::inputs() const {
  const bool wanted = !is_norm(op_) || operands_.dx.data != nullptr;
  return wanted ? operands_.batch * elements(shape(op_.inputs.front())) : 0;
}

std::int64_t Oracle::parameters() const {
  if (const auto* a = std::get_if<Linear>(&op_.attributes)) {
    return a->out_features * (a->in_features + (a->bias ? 1 : 0));  // of its own or not
  }
  std::int64_t count = 0;
  for (const Parameter& parameter : op_.parameters) count += elements(parameter.shape);
  return count;
}

std::int64_t Oracle::outputs() const {
  switch (direction_) {
    case Direction::forward:
      return operands_.batch * elements(shape(op_.output));
    case Direction::backward_data:
      return inputs() + (is_norm(op_) ? parameters() : 0);
    case Direction::backward_weights:
      return is_norm(op_) ? 0 : parameters();
  }
  return 0;
}

Oracle::Place Oracle::place(std::int64_t output) const {
  if (direction_ == Direction::forward) return {operands_.y, output};
  if (direction_ == Direction::backward_data) {
    if (output < inputs()) return {operands_.dx, output};
    output -= inputs();
  }
  const std::int64_t weights =
      op_.parameters.empty() ? parameters() : elements(op_.parameters.front().shape);
  return output < weights ? Place{operands_.dw[0], output}
                          : Place{operands_.dw[1], output - weights};
}

double Oracle::actual(std::int64_t output) const {
  const Place p = place(output);
  return value_at(p.view, p.at);
}

void Oracle::poison(std::int64_t output) const {
  const Place p = place(output);
  set_value(p.view, p.at, std::numeric_limits<double>::quiet_NaN());
}

bool Oracle::agrees(std::int64_t output) const {
  const Exact exact = expected(output);
  const bool half = place(output).view.dtype == DType::bf16;
  const double tolerance = kSumTolerance * exact.magnitude +
                           kBf16Rounding * (exact.rounded + (half ? std::abs(exact.value) : 0));
  return std::abs(actual(output) - exact.value) <= tolerance;  // false for NaN
}

Exact Oracle::expected(std::int64_t output) const {
  expects(output >= 0 && output < outputs(), "the oracle is asked for an output that exists");
  if (const auto* a = std::get_if<Linear>(&op_.attributes)) return linear(*a, output);
  if (const auto* a = std::get_if<Convolution>(&op_.attributes)) return convolution(*a, output);
  if (const auto* a = std::get_if<Pool>(&op_.attributes)) return pool(*a, output);
  if (const auto* a = std::get_if<BatchNorm>(&op_.attributes)) return batch_norm(*a, output);
  if (const auto* a = std::get_if<LayerNorm>(&op_.attributes)) return layer_norm(*a, output);
  if (std::holds_alternative<Relu>(op_.attributes)) return relu(output);
  if (const auto* a = std::get_if<Gelu>(&op_.attributes)) return gelu(*a, output);
  if (std::holds_alternative<Add>(op_.attributes)) {
    Exact sum;
    add(sum, value_at(operands_.x, output));
    add(sum, value_at(operands_.x2, output));
    return sum;
  }
  if (const auto* a = std::get_if<Embedding>(&op_.attributes)) return embedding(*a, output);
  if (const auto* a = std::get_if<Dropout>(&op_.attributes)) return dropout(*a, output);
  if (const auto* a = std::get_if<Attention>(&op_.attributes)) {
    return direction_ == Direction::forward ? attention(*a, output)
                                            : attention_gradient(*a, output);
  }
  if (const auto* a = std::get_if<SoftmaxCrossEntropy>(&op_.attributes)) return loss(*a, output);
  expects(false, "the oracle knows every operator that computes");
  return {};
}

Exact Oracle::linear(const Linear& a, std::int64_t output) const {
  const std::int64_t n = a.out_features, k = a.in_features;
  Exact sum;
  if (direction_ == Direction::forward) {
    const std::int64_t row = output / n, column = output % n;
    for (std::int64_t i = 0; i < k; ++i) {
      add(sum, value_at(operands_.x, row * k + i) * value_at(operands_.w[0], column * k + i));
    }
    if (a.bias) add(sum, value_at(operands_.w[1], column));
  } else if (direction_ == Direction::backward_data) {
    const std::int64_t row = output / k, column = output % k;
    for (std::int64_t i = 0; i < n; ++i) {
      add(sum, value_at(operands_.dy, row * n + i) * value_at(operands_.w[0], i * k + column));
    }
  } else {
    const bool bias = output >= n * k;
    const std::int64_t row = bias ? output - n * k : output / k, column = output % k;
    const std::int64_t rows = operands_.batch * elements(shape(op_.output)) / n;
    for (std::int64_t i = 0; i < rows; ++i) {
      const double gradient = value_at(operands_.dy, i * n + row);
      add(sum, bias ? gradient : gradient * value_at(operands_.x, i * k + column));
    }
  }
  return sum;
}

Exact Oracle::convolution(const Convolution& a, std::int64_t output) const {
  switch (direction_) {
    case Direction::forward:
      return convolution_forward(a, output);
    case Direction::backward_data:
      return convolution_dx(a, output);
    case Direction::backward_weights:
      return convolution_dw(a, output);
  }
  return {};
}

Exact Oracle::convolution_forward(const Convolution& a, std::int64_t output) const {
  const Image in = image_of(shape(op_.inputs.front())), out = image_of(shape(op_.output));
  const Pixel p = pixel_of(out, output);
  const std::int64_t depth = a.in_channels / a.groups;  // input channels that an output sees
  const std::int64_t first = p.channel / (a.out_channels / a.groups) * depth;
  Exact sum;
  for (std::int64_t r = 0; r < a.kernel; ++r) {
    for (std::int64_t s = 0; s < a.kernel; ++s) {
      const std::int64_t y = p.y * a.stride + r - a.padding, x = p.x * a.stride + s - a.padding;
      if (!in.holds(y, x)) continue;
      for (std::int64_t c = 0; c < depth; ++c) {
        const std::int64_t w = ((p.channel * a.kernel + r) * a.kernel + s) * depth + c;
        add(sum,
            value_at(operands_.x, in.at(p.sample, y, x, first + c)) * value_at(operands_.w[0], w));
      }
    }
  }
  if (a.bias) add(sum, value_at(operands_.w[1], p.channel));
  return sum;
}

Exact Oracle::convolution_dx(const Convolution& a, std::int64_t output) const {
  const Image in = image_of(shape(op_.inputs.front())), out = image_of(shape(op_.output));
  const Pixel p = pixel_of(in, output);
  const std::int64_t depth = a.in_channels / a.groups, width = a.out_channels / a.groups;
  const std::int64_t group = p.channel / depth;
  Exact sum;
  const Span rows = windows_over(p.y + a.padding, a.kernel, a.stride, out.height);
  const Span columns = windows_over(p.x + a.padding, a.kernel, a.stride, out.width);
  for (std::int64_t y = rows.begin; y < rows.end; ++y) {
    for (std::int64_t x = columns.begin; x < columns.end; ++x) {
      const std::int64_t r = p.y + a.padding - y * a.stride, s = p.x + a.padding - x * a.stride;
      for (std::int64_t k = group * width; k < (group + 1) * width; ++k) {
        const std::int64_t w = ((k * a.kernel + r) * a.kernel + s) * depth + p.channel % depth;
        add(sum, value_at(operands_.dy, out.at(p.sample, y, x, k)) * value_at(operands_.w[0], w));
      }
    }
  }
  return sum;
}

Exact Oracle::convolution_dw(const Convolution& a, std::int64_t output) const {
  const Image in = image_of(shape(op_.inputs.front())), out = image_of(shape(op_.output));
  const std::int64_t weights = elements(op_.parameters.front().shape);
  const bool bias = output >= weights;
  const std::int64_t depth = a.in_channels / a.groups;
  const std::int64_t s = output / depth % a.kernel;
  const std::int64_t r = output / depth / a.kernel % a.kernel;
  const std::int64_t k = bias ? output - weights : output / depth / a.kernel / a.kernel;
  const std::int64_t c = k / (a.out_channels / a.groups) * depth + output % depth;
  Exact sum;
  for (std::int64_t n = 0; n < operands_.batch; ++n) {
    for (std::int64_t oy = 0; oy < out.height; ++oy) {
      for (std::int64_t ox = 0; ox < out.width; ++ox) {
        const double gradient = value_at(operands_.dy, out.at(n, oy, ox, k));
        const std::int64_t y = oy * a.stride + r - a.padding, x = ox * a.stride + s - a.padding;
        if (bias) {
          add(sum, gradient);
        } else if (in.holds(y, x)) {
          add(sum, gradient * value_at(operands_.x, in.at(n, y, x, c)));
        }
      }
    }
  }
  return sum;
}

namespace {

// One over the pixels of the window at (y, x) that lie inside the image.
double share_of(const Pool& a, const Image& in, std::int64_t y, std::int64_t x) {
  std::int64_t inside = 0;
  for (std::int64_t r = 0; r < a.kernel; ++r) {
    for (std::int64_t s = 0; s < a.kernel; ++s) {
      inside += in.holds(y * a.stride + r - a.padding, x * a.stride + s - a.padding) ? 1 : 0;
    }
  }
  return 1.0 / static_cast<double>(inside);
}

}  // namespace

// Index of the largest input of the window of `output`; the first one of equals.
std::int64_t Oracle::largest(const Pool& a, std::int64_t output) const {
  const Image in = image_of(shape(op_.inputs.front())), out = image_of(shape(op_.output));
  const Pixel p = pixel_of(out, output);
  std::int64_t best = -1;
  for (std::int64_t r = 0; r < a.kernel; ++r) {
    for (std::int64_t s = 0; s < a.kernel; ++s) {
      const std::int64_t y = p.y * a.stride + r - a.padding, x = p.x * a.stride + s - a.padding;
      if (!in.holds(y, x)) continue;
      const std::int64_t at = in.at(p.sample, y, x, p.channel);
      if (best < 0 || value_at(operands_.x, at) > value_at(operands_.x, best)) best = at;
    }
  }
  return best;
}

Exact Oracle::pool_forward(const Pool& a, std::int64_t output) const {
  if (a.mode == Pool::Mode::max) {
    const double value = value_at(operands_.x, largest(a, output));
    return {value, std::abs(value)};
  }
  const Image in = image_of(shape(op_.inputs.front())), out = image_of(shape(op_.output));
  const Pixel p = pixel_of(out, output);
  const double share = share_of(a, in, p.y, p.x);
  Exact sum;
  for (std::int64_t r = 0; r < a.kernel; ++r) {
    for (std::int64_t s = 0; s < a.kernel; ++s) {
      const std::int64_t y = p.y * a.stride + r - a.padding, x = p.x * a.stride + s - a.padding;
      if (!in.holds(y, x)) continue;
      add(sum, share * value_at(operands_.x, in.at(p.sample, y, x, p.channel)));
    }
  }
  return sum;
}

Exact Oracle::pool(const Pool& a, std::int64_t output) const {
  if (direction_ == Direction::forward) return pool_forward(a, output);
  const Image in = image_of(shape(op_.inputs.front())), out = image_of(shape(op_.output));
  const Pixel p = pixel_of(in, output);
  const Span rows = windows_over(p.y + a.padding, a.kernel, a.stride, out.height);
  const Span columns = windows_over(p.x + a.padding, a.kernel, a.stride, out.width);
  Exact sum;
  for (std::int64_t y = rows.begin; y < rows.end; ++y) {
    for (std::int64_t x = columns.begin; x < columns.end; ++x) {
      const std::int64_t window = out.at(p.sample, y, x, p.channel);
      const double gradient = value_at(operands_.dy, window);
      if (a.mode == Pool::Mode::average) {
        add(sum, share_of(a, in, y, x) * gradient);
      } else if (largest(a, window) == output) {
        add(sum, gradient);
      }
    }
  }
  return sum;
}

}  // namespace plimsoll::probes
