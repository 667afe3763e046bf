// Looks at every field of a plain struct without naming it, so that a field added to a record later
// is filled and compared too, and a writer or reader that forgot it fails.

#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/record.hpp"
#include "reports/json_fields.hpp"

namespace plimsoll::reports::testing {

struct Anything {
  template <class T>
  operator T() const;  // never called
};
template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Anything{})...}; };
}
template <class T, std::size_t N = 40>
constexpr std::size_t field_count() {
  static_assert(N > 0, "no way to count the fields of this struct");
  if constexpr (takes<T>(std::make_index_sequence<N>{})) {
    return N;
  } else {
    return field_count<T, N - 1>();
  }
}

// clang-format off
template <class T>
auto fields_of(T& v) {
  constexpr std::size_t kCount = field_count<std::remove_const_t<T>>();
  if constexpr (kCount == 1) { auto& [a] = v; return std::tie(a); }
  else if constexpr (kCount == 2) { auto& [a, b] = v; return std::tie(a, b); }
  else if constexpr (kCount == 3) { auto& [a, b, c] = v; return std::tie(a, b, c); }
  else if constexpr (kCount == 4) { auto& [a, b, c, d] = v; return std::tie(a, b, c, d); }
  else if constexpr (kCount == 5) { auto& [a, b, c, d, e] = v; return std::tie(a, b, c, d, e); }
  else if constexpr (kCount == 6) {
    auto& [
      a, b, c, d, e, f] = v;
    return std::tie(
      a, b, c, d, e, f);
  }
  else if constexpr (kCount == 7) {
    auto& [
      a, b, c, d, e, f, g] = v;
    return std::tie(
      a, b, c, d, e, f, g);
  }
  else if constexpr (kCount == 8) {
    auto& [
      a, b, c, d, e, f, g, h] = v;
    return std::tie(
      a, b, c, d, e, f, g, h);
  }
  else if constexpr (kCount == 9) {
    auto& [
      a, b, c, d, e, f, g, h, i] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i);
  }
  else if constexpr (kCount == 10) {
    auto& [
      a, b, c, d, e, f, g, h, i, j] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j);
  }
  else if constexpr (kCount == 11) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k);
  }
  else if constexpr (kCount == 12) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l);
  }
  else if constexpr (kCount == 13) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m);
  }
  else if constexpr (kCount == 14) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  }
  else if constexpr (kCount == 15) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  }
  else if constexpr (kCount == 16) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  }
  else if constexpr (kCount == 17) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);
  }
  else if constexpr (kCount == 18) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
  }
  else if constexpr (kCount == 19) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s);
  }
  else if constexpr (kCount == 20) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t);
  }
  else if constexpr (kCount == 21) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u);
  }
  else if constexpr (kCount == 22) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w);
  }
  else if constexpr (kCount == 23) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x);
  }
  else if constexpr (kCount == 24) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y);
  }
  else if constexpr (kCount == 25) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z);
  }
  else if constexpr (kCount == 26) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa);
  }
  else if constexpr (kCount == 27) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb);
  }
  else if constexpr (kCount == 28) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc);
  }
  else if constexpr (kCount == 29) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc,
      dd] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd);
  }
  else if constexpr (kCount == 30) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee);
  }
  else if constexpr (kCount == 31) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff);
  }
  else if constexpr (kCount == 32) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg);
  }
  else if constexpr (kCount == 33) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh);
  }
  else if constexpr (kCount == 34) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh, ii] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh, ii);
  }
  else if constexpr (kCount == 35) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh, ii, jj] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh, ii, jj);
  }
  else if constexpr (kCount == 36) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh, ii, jj, kk] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh, ii, jj, kk);
  }
  else if constexpr (kCount == 37) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh, ii, jj, kk, ll] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh, ii, jj, kk, ll);
  }
  else if constexpr (kCount == 38) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh, ii, jj, kk, ll, mm] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh, ii, jj, kk, ll, mm);
  }
  else if constexpr (kCount == 39) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh, ii, jj, kk, ll, mm, nn] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh, ii, jj, kk, ll, mm, nn);
  }
  else if constexpr (kCount == 40) {
    auto& [
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh, ii, jj, kk, ll, mm, nn, oo] = v;
    return std::tie(
      a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb, cc, dd,
      ee, ff, gg, hh, ii, jj, kk, ll, mm, nn, oo);
  }
}
// clang-format on

template <class T>
struct IsQuantity : std::false_type {};
template <int S, int B, int F>
struct IsQuantity<Quantity<S, B, F>> : std::true_type {};

// Gives every field another value, none of them its default; the same ones every time.
class Filler {
 public:
  void fill(bool& v) { v = !v; }
  void fill(int& v) { v = next(); }
  void fill(std::int64_t& v) { v = (std::int64_t{1} << 53) + next(); }
  void fill(double& v) { v = next() + 0.1; }
  void fill(std::string& v) { v = "t\"\\\n\xc3\xa9" + std::to_string(next()); }
  void fill(ParamValue& v) {
    switch (next() % 4) {
      case 0:
        v = std::string("word");
        break;
      case 1:
        v = std::int64_t{7};
        break;
      case 2:
        v = 7.0;
        break;
      default:
        v = true;
    }
  }
  template <class T>
  void fill(std::optional<T>& v) {
    fill(v.emplace());
  }
  template <class T>
  void fill(std::vector<T>& v) {
    for (int i = 0; i < 2; ++i) fill(v.emplace_back());
  }
  template <class T>
  void fill(std::map<std::string, T>& v) {
    for (int i = 0; i < 4; ++i) fill(v["key" + std::to_string(i)]);
  }
  template <class T>
  void fill(T& v) {
    if constexpr (std::is_enum_v<T>) {
      v = static_cast<T>(words(v).size() - 1);
    } else if constexpr (IsQuantity<T>::value) {
      v = T(next() + 0.1);
    } else {
      std::apply([this](auto&... field) { (this->fill(field), ...); }, fields_of(v));
    }
  }

 private:
  int next() { return ++count_; }
  int count_ = 0;
};

// Equality by every field; members of a struct so that each sees all the others.
struct Same {
  template <class T>
  static bool of(const T& a, const T& b) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || IsQuantity<T>::value) {
      return a == b;
    } else {
      const auto pairwise = [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto x = fields_of(a), y = fields_of(b);
        return (of(std::get<I>(x), std::get<I>(y)) && ...);
      };
      return pairwise(std::make_index_sequence<field_count<T>()>{});
    }
  }
  static bool of(const std::string& a, const std::string& b) { return a == b; }
  static bool of(const ParamValue& a, const ParamValue& b) { return a == b; }
  template <class T>
  static bool of(const std::vector<T>& a, const std::vector<T>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const T& x, const T& y) { return of(x, y); });
  }
  template <class T>
  static bool of(const std::map<std::string, T>& a, const std::map<std::string, T>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
      return x.first == y.first && of(x.second, y.second);
    });
  }
  template <class T>
  static bool of(const std::optional<T>& a, const std::optional<T>& b) {
    return a.has_value() == b.has_value() && (!a || of(*a, *b));
  }
  static bool of(const Subject& a, const Subject& b) {
    return a.index() == b.index() &&
           std::visit([&](const auto& x) { return of(x, std::get<std::decay_t<decltype(x)>>(b)); },
                      a);
  }
};
template <class T>
bool same(const T& a, const T& b) {
  return Same::of(a, b);
}

}  // namespace plimsoll::reports::testing
