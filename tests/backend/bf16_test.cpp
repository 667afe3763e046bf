// Linear layers in bf16 against their definition. Not every machine has kernels for it.

#include <cstdio>

#include "core/error.hpp"
#include "probes/kernel/oracle.hpp"
#include "tests/backend/fixture.hpp"
#include "tests/catch.hpp"

namespace plimsoll::trainer::test {
namespace {

TEST_CASE("bf16 linear layers agree with the definition to bf16 rounding") {
  const auto backend = make_cpu_backend(1);
  const std::int64_t m = 9, n = 5, k = 70;
  const Shaped shaped = linear(k, n);
  for (const Direction direction : kDirections) {
    std::vector<std::vector<std::uint16_t>> memory;
    std::uint64_t seed = 7;
    const auto half = [&](std::int64_t elements) {
      Storage source(elements, ++seed);
      memory.emplace_back(static_cast<std::size_t>(elements));
      const View view{.data = memory.back().data(), .elements = elements, .dtype = DType::bf16};
      for (std::int64_t i = 0; i < elements; ++i) probes::set_value(view, i, source.data()[i]);
      return view;
    };
    Operands operands{.batch = m,
                      .x = half(m * k),
                      .y = half(m * n),
                      .dx = half(m * k),
                      .dy = half(m * n),
                      .w = {half(n * k), half(n)},
                      .dw = {half(n * k), half(n)}};
    const Op& op = shaped.graph.ops.back();
    std::unique_ptr<Kernel> kernel;
    try {
      kernel = backend->make(shaped.graph, op, direction, operands);
    } catch (const Error& error) {
      INFO(error.problem());
      CHECK(error.fix().find("--dtype f32") != std::string::npos);
      std::printf("SKIPPED: %s\n", error.problem().c_str());
      return;
    }
    const probes::Oracle oracle(shaped.graph, op, direction, operands);
    for (std::int64_t i = 0; i < oracle.outputs(); ++i) oracle.poison(i);
    kernel->execute();
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < oracle.outputs(); ++i) wrong += oracle.agrees(i) ? 0 : 1;
    INFO(to_string(direction));
    CHECK(wrong == 0);
    const Cost formula = cost_of(shaped.graph, op, direction, m, DType::bf16);
    CHECK(kernel->counted().flop.value() == formula.flop.value());
    CHECK(kernel->counted().bytes.value() == formula.bytes.value());
  }
}

}  // namespace
}  // namespace plimsoll::trainer::test
