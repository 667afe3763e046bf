// Physical quantities as types: SI base units inside, no prefixes, no implicit conversion.
//
// A Quantity carries its exponents of second, byte and floating-point operation, so that
// Bytes / BytesPerSecond is Seconds and anything else does not compile. Dimensionless results
// become plain double. Counts of things are std::int64_t and never a Quantity.

#pragma once

#include <compare>

namespace plimsoll {

template <int SecondExp, int ByteExp, int FlopExp>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  // The value in the SI base unit (s, B, FLOP and their quotients).
  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }

  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(k * a.value_); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value_ / k); }

 private:
  double value_ = 0.0;
};

namespace detail {
template <int S, int B, int F>
constexpr auto make_quantity(double value) {
  if constexpr (S == 0 && B == 0 && F == 0) {
    return value;
  } else {
    return Quantity<S, B, F>(value);
  }
}
}  // namespace detail

template <int S1, int B1, int F1, int S2, int B2, int F2>
constexpr auto operator*(Quantity<S1, B1, F1> a, Quantity<S2, B2, F2> b) {
  return detail::make_quantity<S1 + S2, B1 + B2, F1 + F2>(a.value() * b.value());
}

template <int S1, int B1, int F1, int S2, int B2, int F2>
constexpr auto operator/(Quantity<S1, B1, F1> a, Quantity<S2, B2, F2> b) {
  return detail::make_quantity<S1 - S2, B1 - B2, F1 - F2>(a.value() / b.value());
}

template <int S, int B, int F>
constexpr auto operator/(double k, Quantity<S, B, F> a) {
  return detail::make_quantity<-S, -B, -F>(k / a.value());
}

using Seconds = Quantity<1, 0, 0>;
using PerSecond = Quantity<-1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flop = Quantity<0, 0, 1>;
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopPerSecond = Quantity<-1, 0, 1>;
using FlopPerByte = Quantity<0, -1, 1>;

namespace literals {
constexpr Seconds operator""_s(long double v) { return Seconds(static_cast<double>(v)); }
constexpr Seconds operator""_us(long double v) { return Seconds(static_cast<double>(v) * 1e-6); }
constexpr Bytes operator""_B(unsigned long long v) { return Bytes(static_cast<double>(v)); }
}  // namespace literals

}  // namespace plimsoll
