// Units: quotients have the right dimension, and what makes no sense does not compile.

#include "core/units.hpp"

#include <type_traits>

#include "tests/catch.hpp"

namespace plimsoll {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

static_assert(Addable<Seconds, Seconds>);
static_assert(!Addable<Seconds, Bytes>);
static_assert(!Addable<Seconds, double>);
static_assert(!Comparable<Bytes, Flop>);
static_assert(!std::is_convertible_v<double, Seconds>);
static_assert(!std::is_convertible_v<Seconds, double>);
static_assert(!std::is_convertible_v<BytesPerSecond, FlopPerSecond>);
static_assert(std::is_same_v<decltype(Bytes(1) / BytesPerSecond(1)), Seconds>);
static_assert(std::is_same_v<decltype(Flop(1) / Bytes(1)), FlopPerByte>);
static_assert(std::is_same_v<decltype(FlopPerByte(1) * BytesPerSecond(1)), FlopPerSecond>);
static_assert(std::is_same_v<decltype(1.0 / Seconds(1)), PerSecond>);
static_assert(std::is_same_v<decltype(Seconds(1) / Seconds(1)), double>);
static_assert(sizeof(Seconds) == sizeof(double));

TEST_CASE("quantities follow arithmetic") {
  using namespace literals;
  CHECK((Bytes(100) / BytesPerSecond(50)).value() == 2.0);
  CHECK(Seconds(3) / Seconds(2) == 1.5);
  CHECK((2.5_s + Seconds(0.5)).value() == 3.0);
  CHECK((5.0_us).value() == Approx(5e-6));
  CHECK((64_B).value() == 64.0);
  CHECK((-Seconds(1)).value() == -1.0);
  CHECK(Seconds(1) < Seconds(2));
  CHECK(Seconds(1) == Seconds(1));
  Seconds sum(1);
  sum += Seconds(2);
  sum -= Seconds(0.5);
  CHECK(sum.value() == 2.5);
  CHECK(Seconds().value() == 0.0);
}

TEST_CASE("a petabyte and a single byte are both exact") {
  CHECK((Bytes(1e15) + Bytes(1)).value() == 1'000'000'000'000'001.0);
}

}  // namespace
}  // namespace plimsoll
