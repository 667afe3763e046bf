// Every operator and direction against its definition in double precision, element by element.

#include <set>

#include "probes/kernel/oracle.hpp"
#include "tests/backend/fixture.hpp"
#include "tests/catch.hpp"

namespace plimsoll::trainer::test {
namespace {

// How many of every `stride`-th output differ from the oracle's; all were NaN before.
std::int64_t wrong_outputs(Fixture& fixture, const Backend& backend, Direction direction,
                           std::int64_t stride = 1) {
  fixture.run_forward(backend);
  const auto kernel = fixture.make(backend, direction);
  const probes::Oracle oracle(fixture.graph(), fixture.op(), direction, fixture.operands);
  for (std::int64_t i = 0; i < oracle.outputs(); ++i) oracle.poison(i);
  kernel->execute();
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < oracle.outputs(); i += stride) wrong += oracle.agrees(i) ? 0 : 1;
  return wrong;
}

TEST_CASE("every operator does in every direction what its definition says") {
  const int threads = GENERATE(1, 2);
  const std::int64_t batch = GENERATE(1, 3, 37);
  const std::int64_t shift = GENERATE(0, 1);  // off the vector alignment
  const auto backend = make_cpu_backend(threads);
  for (const Shaped& shaped : shapes()) {
    for (const Direction direction : kDirections) {
      Fixture fixture(shaped.graph, batch, 1, shift);
      if (!does_something(fixture.op(), direction)) continue;
      INFO(shaped.name << " " << to_string(direction) << " batch " << batch << " threads "
                       << threads << " shift " << shift);
      CHECK(wrong_outputs(fixture, *backend, direction) == 0);
    }
  }
}

TEST_CASE("work divided among threads is the same work") {
  const int threads = GENERATE(1, 2, 3);
  const auto backend = make_cpu_backend(threads);
  for (const Shaped& shaped : large_shapes()) {
    for (const Direction direction : kDirections) {
      Fixture fixture(shaped.graph, kLargeBatch);
      if (!does_something(fixture.op(), direction)) continue;
      INFO(shaped.name << " " << to_string(direction) << " threads " << threads);
      CHECK(wrong_outputs(fixture, *backend, direction, 7) == 0);
    }
  }
}

TEST_CASE("a second execution sees new inputs and overwrites the gradients") {
  const auto backend = make_cpu_backend(1);
  for (const Shaped& shaped : shapes()) {
    for (const Direction direction : kDirections) {
      Fixture fixture(shaped.graph, 3);
      if (!does_something(fixture.op(), direction)) continue;
      fixture.run_forward(*backend);
      const auto kernel = fixture.make(*backend, direction);
      kernel->execute();
      for (const View& view : fixture.operands.w) {  // as an optimizer step does
        for (std::int64_t i = 0; i < view.elements; ++i) static_cast<float*>(view.data)[i] *= -2;
      }
      for (std::int64_t i = 0; i < fixture.operands.dy.elements; ++i) {
        static_cast<float*>(fixture.operands.dy.data)[i] += 1;
      }
      kernel->execute();
      const probes::Oracle oracle(fixture.graph(), fixture.op(), direction, fixture.operands);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < oracle.outputs(); ++i) wrong += oracle.agrees(i) ? 0 : 1;
      INFO(shaped.name << " " << to_string(direction));
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("what a kernel counts is what the graph's formulas say") {
  const int threads = GENERATE(1, 2);
  const DType dtype = GENERATE(DType::f32, DType::bf16);
  const auto backend = make_cpu_backend(threads);
  if (!computes_in(*backend, dtype)) return;
  std::vector<Shaped> all = shapes();
  for (Shaped& shaped : large_shapes()) all.push_back(std::move(shaped));
  for (const Shaped& shaped : all) {
    for (const Direction direction : kDirections) {
      Fixture fixture(shaped.graph, 3, 1, 0, dtype);
      if (!does_something(fixture.op(), direction)) continue;
      const auto kernel = fixture.make(*backend, direction);
      const Cost counted = kernel->counted();
      const Cost formula = cost_of(shaped.graph, fixture.op(), direction, 3, dtype);
      INFO(shaped.name << " " << to_string(direction) << " " << to_string(dtype));
      CHECK(counted.flop.value() == formula.flop.value());
      CHECK(counted.bytes.value() == formula.bytes.value());
      CHECK(!kernel->implementation().empty());
    }
  }
}

TEST_CASE("directions that do nothing have no kernel") {
  const auto backend = make_cpu_backend(1);
  GraphBuilder builder({2, 3, 4});
  const int flat = builder.flatten("flatten", builder.input());
  static_cast<void>(flat);
  const Graph reshape = std::move(builder).build();
  Fixture fixture(reshape, 3);
  for (const Direction direction : kDirections) {
    CHECK(fixture.make(*backend, direction) == nullptr);
  }
  for (const Shaped& shaped : shapes()) {
    Fixture other(shaped.graph, 3);
    for (const Direction direction : kDirections) {
      INFO(shaped.name << " " << to_string(direction));
      CHECK((other.make(*backend, direction) != nullptr) == does_something(other.op(), direction));
    }
  }
}

TEST_CASE("relu may overwrite its input and its gradient") {
  const auto backend = make_cpu_backend(1);
  GraphBuilder builder({19});
  builder.relu("relu", builder.input());
  const Graph graph = std::move(builder).build();
  Fixture fixture(graph, 3);
  const auto* x = static_cast<const float*>(fixture.operands.x.data);
  const auto* dy = static_cast<const float*>(fixture.operands.dy.data);
  const std::vector<float> before(x, x + fixture.operands.x.elements);
  const std::vector<float> gradient(dy, dy + fixture.operands.dy.elements);
  fixture.operands.y = fixture.operands.x;
  fixture.operands.dx = fixture.operands.dy;
  fixture.make(*backend, Direction::forward)->execute();
  fixture.make(*backend, Direction::backward_data)->execute();
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(x[i] == std::max(0.0F, before[i]));
    CHECK(dy[i] == (before[i] > 0 ? gradient[i] : 0.0F));
  }
}

TEST_CASE("a loss stays finite where a probability underflows") {
  const auto backend = make_cpu_backend(1);
  GraphBuilder builder({3});
  builder.softmax_cross_entropy("loss", builder.input());
  const Graph graph = std::move(builder).build();
  Fixture fixture(graph, 1);
  auto* const x = static_cast<float*>(fixture.operands.x.data);
  const std::int32_t label = 0;
  fixture.operands.labels = &label;
  x[0] = -400;
  x[1] = 400;
  x[2] = 0;
  fixture.make(*backend, Direction::forward)->execute();
  CHECK(static_cast<const float*>(fixture.operands.y.data)[0] == Approx(800));
}

}  // namespace
}  // namespace plimsoll::trainer::test
