// Norms, element-wise operators, the embedding and the loss by their definition.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "probes/kernel/oracle.hpp"

namespace plimsoll::probes {
namespace {

// Moments of values x(0) .. x(count - 1), and how large they are: a normalised value carries the
// rounding of numbers of this size, however small it is itself.
struct Moments {
  double mean = 0, inverse = 0, size = 0;
  std::int64_t count = 0;

  [[nodiscard]] double normal(double x) const { return (x - mean) * inverse; }
  // Sums over many rows may be taken one after the other in f32: their rounding errors, of random
  // sign, grow with the root of the count. Beyond some ten thousand rows four times that root
  // exceeds what the tolerance of sums allows for.
  [[nodiscard]] double bound(double x) const {
    const double rounding = 4 * std::sqrt(static_cast<double>(count)) * 0x1p-24;
    return (std::abs(x) + size) * inverse * std::max(1.0, rounding / 1e-5);
  }
};

template <class X>
Moments moments_of(std::int64_t count, double epsilon, const X& x) {
  Moments m{.count = count};
  const auto n = static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    m.mean += x(i) / n;
    m.size += std::abs(x(i)) / n;
  }
  double variance = 0;
  for (std::int64_t i = 0; i < count; ++i) variance += (x(i) - m.mean) * (x(i) - m.mean) / n;
  m.inverse = 1.0 / std::sqrt(variance + epsilon);
  return m;
}

Exact normalised(const Moments& m, double x, double weight, double bias) {
  return {m.normal(x) * weight + bias, m.bound(x) * std::abs(weight) + std::abs(bias)};
}

// inverse (g - mean(g) - n mean(g n)) at element i, where g is the gradient of what is normalised.
template <class X, class G>
Exact gradient_through(const Moments& m, std::int64_t i, const X& x, const G& g) {
  Exact plain, along;
  for (std::int64_t j = 0; j < m.count; ++j) {
    add(plain, g(j));
    along.value += g(j) * m.normal(x(j));
    along.magnitude += std::abs(g(j)) * m.bound(x(j));
  }
  const auto n = static_cast<double>(m.count);
  const double value = g(i) - plain.value / n - m.normal(x(i)) * along.value / n;
  const double size = std::abs(g(i)) + plain.magnitude / n + m.bound(x(i)) * along.magnitude / n;
  return {m.inverse * value, m.inverse * size};
}

double phi(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi); }

// Murmur3's finaliser and splitmix64's, as the backends hash.
std::uint32_t finalised(std::uint32_t h) {
  h ^= h >> 16;
  h *= 0x85EBCA6BU;
  h ^= h >> 13;
  h *= 0xC2B2AE35U;
  return h ^ (h >> 16);
}
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

Exact Oracle::batch_norm(const BatchNorm& a, std::int64_t output) const {
  const std::int64_t channels = a.channels;
  const std::int64_t rows = operands_.batch * elements(shape(op_.inputs.front())) / channels;
  const bool parameter = direction_ != Direction::forward && output >= inputs();
  const std::int64_t which = parameter ? output - inputs() : output;
  const std::int64_t channel = which % channels;
  const auto x = [&](std::int64_t row) { return value_at(operands_.x, row * channels + channel); };
  Moments m = moments_of(rows, a.epsilon, x);
  const double weight = value_at(operands_.w[0], channel);
  if (direction_ == Direction::forward) {
    if (operands_.mode == trainer::Mode::evaluate) {
      m.mean = value_at(operands_.state[0], channel);
      m.size = std::abs(m.mean);
      m.inverse = 1.0 / std::sqrt(value_at(operands_.state[1], channel) + a.epsilon);
    }
    return normalised(m, x(output / channels), weight, value_at(operands_.w[1], channel));
  }
  const auto dy = [&](std::int64_t row) {
    return value_at(operands_.dy, row * channels + channel);
  };
  if (!parameter) {
    return gradient_through(m, output / channels, x,
                            [&](std::int64_t row) { return weight * dy(row); });
  }
  Exact sum;
  for (std::int64_t row = 0; row < rows; ++row) {
    const bool of_bias = which >= channels;
    sum.value += dy(row) * (of_bias ? 1 : m.normal(x(row)));
    sum.magnitude += std::abs(dy(row)) * (of_bias ? 1 : m.bound(x(row)));
  }
  return sum;
}

Exact Oracle::layer_norm(const LayerNorm& a, std::int64_t output) const {
  const std::int64_t n = a.features;
  const std::int64_t rows = operands_.batch * elements(shape(op_.inputs.front())) / n;
  const auto at = [n](const trainer::View& view, std::int64_t row) {
    return [&view, row, n](std::int64_t i) { return value_at(view, row * n + i); };
  };
  if (direction_ == Direction::forward) {
    const auto x = at(operands_.x, output / n);
    const std::int64_t i = output % n;
    return normalised(moments_of(n, a.epsilon, x), x(i), value_at(operands_.w[0], i),
                      value_at(operands_.w[1], i));
  }
  if (output < inputs()) {
    const auto x = at(operands_.x, output / n), dy = at(operands_.dy, output / n);
    return gradient_through(moments_of(n, a.epsilon, x), output % n, x,
                            [&](std::int64_t i) { return value_at(operands_.w[0], i) * dy(i); });
  }
  const std::int64_t which = output - inputs(), i = which % n;
  Exact sum;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto x = at(operands_.x, row);
    const double dy = at(operands_.dy, row)(i);
    const Moments m = moments_of(n, a.epsilon, x);
    sum.value += dy * (which >= n ? 1 : m.normal(x(i)));
    sum.magnitude += std::abs(dy) * (which >= n ? 1 : m.bound(x(i)));
  }
  return sum;
}

Exact Oracle::relu(std::int64_t output) const {
  if (direction_ == Direction::forward) {
    const double value = std::max(0.0, value_at(operands_.x, output));
    return {value, value};
  }
  const double gradient = value_at(operands_.dy, output);
  return value_at(operands_.y, output) > 0 ? Exact{gradient, std::abs(gradient)} : Exact{};
}

Exact Oracle::gelu(const Gelu& a, std::int64_t output) const {
  const double x = value_at(operands_.x, output);
  double share = 0, slope = 0;  // y = x share; dy/dx
  if (a.form == Gelu::Form::tanh) {
    const double factor = std::sqrt(2 / std::numbers::pi), cubic = 0.044715;
    const double t = std::tanh(factor * (x + cubic * x * x * x));
    share = 0.5 * (1 + t);
    slope = share + 0.5 * x * (1 - t * t) * factor * (1 + 3 * cubic * x * x);
  } else {
    share = 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
    slope = share + x * phi(x);
  }
  if (direction_ == Direction::forward) return {x * share, std::abs(x)};
  const double dy = value_at(operands_.dy, output);
  return {dy * slope, std::abs(dy) * (1 + std::abs(x))};
}

Exact Oracle::embedding(const Embedding& a, std::int64_t output) const {
  const std::int64_t n = a.features, positions = shape(op_.inputs.front())[0];
  Exact sum;
  if (direction_ == Direction::forward) {
    const std::int64_t row = output / n, i = output % n;
    add(sum, value_at(operands_.w[0], operands_.tokens[row] * n + i));
    if (a.positions) add(sum, value_at(operands_.w[1], row % positions * n + i));
    return sum;
  }
  const bool of_position = output >= a.vocabulary * n;
  const std::int64_t which = of_position ? output - a.vocabulary * n : output;
  for (std::int64_t row = 0; row < operands_.batch * positions; ++row) {
    const std::int64_t id = of_position ? row % positions : operands_.tokens[row];
    if (id == which / n) add(sum, value_at(operands_.dy, row * n + which % n));
  }
  return sum;
}

Exact Oracle::dropout(const Dropout& a, std::int64_t output) const {
  const double in = value_at(direction_ == Direction::forward ? operands_.x : operands_.dy, output);
  if (operands_.mode == trainer::Mode::evaluate || a.rate == 0) return {in, std::abs(in)};
  const std::int64_t sample = elements(shape(op_.inputs.front()));
  const trainer::StepState& step = *operands_.step;
  std::uint64_t name = 0xCBF29CE484222325ULL;
  for (const char letter : op_.name) {
    name = (name ^ static_cast<unsigned char>(letter)) * 0x100000001B3ULL;
  }
  const std::uint64_t base =
      mixed(mixed(mixed(step.seed) ^ static_cast<std::uint64_t>(step.step)) ^ name);
  const std::uint64_t key =
      mixed(base ^ static_cast<std::uint64_t>(step.first_sample + output / sample));
  const auto element = static_cast<std::uint32_t>(output % sample);
  const std::uint32_t hash =
      finalised(finalised((element * 0x9E3779B1U) ^ static_cast<std::uint32_t>(key)) +
                static_cast<std::uint32_t>(key >> 32));
  const bool dropped = hash < a.rate * 4294967296.0;
  const double value = dropped ? 0 : in / (1 - a.rate);
  return {value, std::abs(value)};
}

Exact Oracle::loss(const SoftmaxCrossEntropy& a, std::int64_t output) const {
  const std::int64_t positions =
      elements(shape(op_.inputs.front())) / a.classes;  // rows of a sample
  const auto share = 1.0 / static_cast<double>(positions);
  if (direction_ == Direction::forward) {
    Exact sum;
    for (std::int64_t i = 0; i < positions; ++i) {
      const Exact one = row_loss(a, output * positions + i);
      sum.value += share * one.value;
      sum.magnitude += share * one.magnitude;
    }
    return sum;
  }
  const std::int64_t row = output / a.classes, column = output % a.classes;
  const std::int64_t label = operands_.labels[row];
  const auto score = [&](std::int64_t c) { return value_at(operands_.x, row * a.classes + c); };
  const double probability = std::exp(score(column) - score(label) - row_loss(a, row).value);
  const double scale = operands_.loss_scale * share;
  return {(probability - (column == label ? 1.0 : 0.0)) * scale, std::abs(scale)};
}

Exact Oracle::row_loss(const SoftmaxCrossEntropy& a, std::int64_t row) const {
  const std::int64_t label = operands_.labels[row];
  const auto score = [&](std::int64_t c) { return value_at(operands_.x, row * a.classes + c); };
  double peak = score(0), sum = 0;
  for (std::int64_t c = 1; c < a.classes; ++c) peak = std::max(peak, score(c));
  for (std::int64_t c = 0; c < a.classes; ++c) sum += std::exp(score(c) - peak);
  const double normaliser = peak + std::log(sum);
  return {normaliser - score(label), std::abs(normaliser) + std::abs(score(label))};
}

}  // namespace plimsoll::probes
