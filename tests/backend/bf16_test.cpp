// Every operator in bf16 against its definition in double precision on the same bf16 inputs: what
// differs is the rounding of the result to 8 bits, and of what an operator keeps in bf16 inside.
// Not every machine has kernels for it.

#include <cstdio>

#include "core/error.hpp"
#include "probes/kernel/oracle.hpp"
#include "tests/backend/fixture.hpp"
#include "tests/catch.hpp"

namespace plimsoll::trainer::test {
namespace {

bool skipped(const Backend& backend) {
  if (computes_in(backend, DType::bf16)) return false;
  const Shaped shaped = linear(7, 5);
  Fixture fixture(shaped.graph, 3, 1, 0, DType::bf16);
  try {
    static_cast<void>(fixture.make(backend, Direction::forward));
  } catch (const Error& error) {
    CHECK(error.fix().find("--dtype f32") != std::string::npos);
    std::printf("SKIPPED: %s\n", error.problem().c_str());
  }
  return true;
}

void compare(const Backend& backend, const Shaped& shaped, std::int64_t batch,
             std::int64_t stride) {
  for (const Direction direction : kDirections) {
    Fixture fixture(shaped.graph, batch, 1, 0, DType::bf16);
    if (!does_something(fixture.op(), direction)) continue;
    INFO(shaped.name << " " << to_string(direction) << " batch " << batch);
    fixture.run_forward(backend);
    const auto kernel = fixture.make(backend, direction);
    const probes::Oracle oracle(shaped.graph, fixture.op(), direction, fixture.operands);
    for (std::int64_t i = 0; i < oracle.outputs(); ++i) oracle.poison(i);
    kernel->execute();
    for (std::int64_t i = 0; i < oracle.outputs(); i += stride) {
      if (oracle.agrees(i)) continue;
      INFO("output " << i << " is " << oracle.actual(i) << " by " << kernel->implementation());
      CHECK(oracle.expected(i).value == oracle.actual(i));
      break;
    }
  }
}

TEST_CASE("every operator in bf16 does what its definition says, to bf16 rounding") {
  const int threads = GENERATE(1, 2);
  const auto backend = make_cpu_backend(threads);
  if (skipped(*backend)) return;
  for (const Shaped& shaped : shapes()) {
    for (const std::int64_t batch : {1, 3, 37}) compare(*backend, shaped, batch, 1);
  }
  for (const Shaped& shaped : large_shapes()) compare(*backend, shaped, kLargeBatch, 7);
}

TEST_CASE("the bound of bf16 fails what is off by two units in the last place") {
  const auto backend = make_cpu_backend(1);
  if (skipped(*backend)) return;
  const Shaped shaped = linear(70, 5);
  Fixture fixture(shaped.graph, 3, 1, 0, DType::bf16);
  fixture.run_forward(*backend);
  const probes::Oracle oracle(shaped.graph, fixture.op(), Direction::forward, fixture.operands);
  auto* const y = static_cast<std::uint16_t*>(fixture.operands.y.data);
  for (std::int64_t i = 0; i < oracle.outputs(); ++i) {
    CHECK(oracle.agrees(i));
    y[i] = static_cast<std::uint16_t>(y[i] + 3);
    CHECK_FALSE(oracle.agrees(i));
  }
}

}  // namespace
}  // namespace plimsoll::trainer::test
