// Ceilings, floors, what binds, and what-if on an operator.

#include "models/operator/roofline.hpp"
#include "tests/catch.hpp"
#include "tests/models/machines.hpp"

using namespace plimsoll;
using namespace plimsoll::models;

namespace {

Machine with_ceilings() {
  Machine m;
  m.compute.push_back({"f32", "avx2", 1, tests::exact(FlopPerSecond(60e9))});
  m.compute.push_back({"f32", "avx512", 1, tests::within(FlopPerSecond(100e9), 0.1)});
  m.compute.push_back({"f32", "avx512", 2, tests::exact(FlopPerSecond(160e9))});
  m.bandwidths.push_back({"read", Bytes(32e3), 1, tests::exact(BytesPerSecond(200e9))});
  m.bandwidths.push_back({"read", Bytes(256e6), 1, tests::within(BytesPerSecond(10e9), 0.2)});
  m.bandwidths.push_back({"read", Bytes(256e6), 2, tests::exact(BytesPerSecond(16e9))});
  return m;
}

}  // namespace

TEST_CASE("ceilings: the best instruction set, and a rank's share of the busy machine") {
  const Machine m = with_ceilings();
  const Ceilings alone = ceilings(m, DType::f32, {.threads = 1, .busy_cores = 0}, Bytes(256e6));
  CHECK(alone.compute->value() == Approx(100e9));
  CHECK(alone.memory->value() == Approx(10e9));
  const Ceilings shared = ceilings(m, DType::f32, {.threads = 1, .busy_cores = 1}, Bytes(128e6));
  CHECK(shared.compute->value() == Approx(80e9));
  CHECK(shared.memory->value() == Approx(8e9));
  CHECK(ceilings(m, DType::f32, {.threads = 1, .busy_cores = 0}, Bytes(20e3)).memory->value() ==
        Approx(200e9));
  CHECK_FALSE(ceilings(m, DType::bf16, {}, Bytes(1)).compute.has_value());
  CHECK_FALSE(ceilings(Machine{}, DType::f32, {}, Bytes(1)).memory.has_value());
}

TEST_CASE("the floor is the upper end of the ceilings") {
  const Machine m = with_ceilings();
  const Cost compute{Flop(1e9), Bytes(1000)};
  CHECK(roofline_floor(m, DType::f32, 1, compute).value() == Approx(1e9 / 110e9));
  const Cost memory{Flop(1), Bytes(600e6)};
  CHECK(roofline_floor(m, DType::f32, 1, memory).value() == Approx(600e6 / 12e9));
  CHECK(roofline_floor(Machine{}, DType::f32, 1, compute) == Seconds(0));
}

TEST_CASE("a kernel that was measured above the ceiling raises it") {
  Machine m = with_ceilings();
  m.matmul.push_back({.rate = tests::exact(FlopPerSecond(150e9))});
  CHECK(roofline_floor(m, DType::f32, 1, {Flop(1e9), Bytes(1)}).value() == Approx(1e9 / 150e9));
}

TEST_CASE("what binds") {
  OperatorTime t{
      .time = Seconds(10), .dispatch = Seconds(1), .compute = Seconds(6), .memory = Seconds(3)};
  CHECK(bound_by(t) == "compute");
  t.memory = Seconds(7);
  CHECK(bound_by(t) == "memory");
  t.dispatch = Seconds(6);
  CHECK(bound_by(t) == "dispatch");
}

TEST_CASE("what if: the inefficiency over the roofline is kept, the call is apart") {
  const OperatorTime t{
      .time = Seconds(13), .dispatch = Seconds(1), .compute = Seconds(6), .memory = Seconds(3)};
  CHECK(with(t, {}).time == t.time);
  CHECK(with(t, {.compute_ratio = 2}).time.value() == Approx(7));   // 1 + 12 * 3/6
  CHECK(with(t, {.compute_ratio = 10}).time.value() == Approx(7));  // now memory binds
  CHECK(with(t, {.memory_ratio = 2}).time.value() == Approx(13));
  CHECK(with(t, {.dispatch_ratio = 0.5}).time.value() == Approx(12.5));
}
