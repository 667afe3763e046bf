// What the CPU backend cannot do, it refuses by name and with a way out.

#include <string>

#include "core/error.hpp"
#include "tests/backend/fixture.hpp"
#include "tests/catch.hpp"

namespace plimsoll::trainer::test {
namespace {

Error refusal(Fixture& fixture, Direction direction) {
  const auto backend = make_cpu_backend(1);
  try {
    static_cast<void>(fixture.make(*backend, direction));
  } catch (const Error& error) {
    return error;
  }
  FAIL("the backend accepted what it cannot do");
  return {"", "", ""};
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("data types that do not belong together are refused") {
  GraphBuilder builder({5});
  builder.relu("rectifier", builder.input());
  const Graph graph = std::move(builder).build();
  Fixture fixture(graph, 3);
  fixture.operands.x.dtype = DType::bf16;
  const Error error = refusal(fixture, Direction::forward);
  CHECK(mentions(error.problem(), "y of operator 'rectifier'"));
  CHECK(mentions(error.problem(), "bf16"));
  CHECK(mentions(error.fix(), "--dtype f32"));
}

TEST_CASE("mixed data types of a linear layer are refused") {
  const Shaped shaped = linear(7, 5);
  Fixture fixture(shaped.graph, 3);
  fixture.operands.w[0].dtype = DType::bf16;
  CHECK(mentions(refusal(fixture, Direction::forward).problem(), "w[0]"));
}

TEST_CASE("an operand that is missing or short is refused") {
  const Shaped shaped = linear(7, 5);
  SECTION("missing") {
    Fixture fixture(shaped.graph, 3);
    fixture.operands.dx = {};
    const Error error = refusal(fixture, Direction::backward_data);
    CHECK(mentions(error.problem(), "dx of operator 'fc'"));
    CHECK(mentions(error.problem(), "needs 21"));
  }
  SECTION("short") {
    Fixture fixture(shaped.graph, 3);
    fixture.operands.y.elements -= 1;
    CHECK(mentions(refusal(fixture, Direction::forward).problem(), "14 elements and needs 15"));
  }
  SECTION("a parameter") {
    Fixture fixture(shaped.graph, 3);
    fixture.operands.dw.pop_back();
    CHECK(mentions(refusal(fixture, Direction::backward_weights).problem(), "dw[1]"));
  }
  SECTION("labels") {
    GraphBuilder builder({5});
    builder.softmax_cross_entropy("loss", builder.input());
    const Graph graph = std::move(builder).build();
    Fixture fixture(graph, 3);
    fixture.operands.labels = nullptr;
    CHECK(mentions(refusal(fixture, Direction::forward).problem(), "labels"));
  }
}

TEST_CASE("largest pooling without a workspace goes forward but not backward") {
  GraphBuilder builder({4, 4, 3});
  builder.pool("pool", builder.input(), Pool::Mode::max, 2, 2);
  const Graph graph = std::move(builder).build();
  Fixture fixture(graph, 3);
  const auto backend = make_cpu_backend(1);
  CHECK(backend->make(graph, fixture.op(), Direction::forward, fixture.operands) != nullptr);
  CHECK_THROWS_AS(backend->make(graph, fixture.op(), Direction::backward_data, fixture.operands),
                  Error);
}

TEST_CASE("a team needs a thread") {
  CHECK_THROWS_AS(make_cpu_backend(0), Error);
  CHECK(mentions(make_cpu_backend(1)->name(), "oneDNN"));
}

}  // namespace
}  // namespace plimsoll::trainer::test
