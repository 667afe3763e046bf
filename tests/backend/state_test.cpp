// What an operator keeps or is told beside its tensors: running means, the mode, the step that
// dropout hashes; and the kernels that belong to no operator.

#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.hpp"
#include "probes/kernel/oracle.hpp"
#include "tests/backend/fixture.hpp"
#include "tests/catch.hpp"

namespace plimsoll::trainer::test {
namespace {

Graph graph_of(const Shape& input, const std::function<void(GraphBuilder&)>& append,
               bool tokens = false) {
  GraphBuilder builder(input, tokens);
  append(builder);
  return std::move(builder).build();
}

std::vector<double> values(const View& view) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < view.elements; ++i) all.push_back(probes::value_at(view, i));
  return all;
}

std::int64_t wrong(const Fixture& fixture, Direction direction) {
  const probes::Oracle oracle(fixture.graph(), fixture.op(), direction, fixture.operands);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < oracle.outputs(); ++i) count += oracle.agrees(i) ? 0 : 1;
  return count;
}

TEST_CASE("running means move by momentum, the running variance without bias") {
  const auto backend = make_cpu_backend(1);
  const std::int64_t batch = GENERATE(1, 5);
  const Graph graph = graph_of({3}, [](GraphBuilder& g) { g.batch_norm("norm", 0, 1e-5, 0.25); });
  Fixture fixture(graph, batch);
  const auto mean = values(fixture.operands.state[0]), variance = values(fixture.operands.state[1]);
  fixture.run_forward(*backend);
  for (std::int64_t c = 0; c < 3; ++c) {
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < batch; ++i) sum += probes::value_at(fixture.operands.x, 3 * i + c);
    const double centre = sum / static_cast<double>(batch);
    for (std::int64_t i = 0; i < batch; ++i) {
      squares += std::pow(probes::value_at(fixture.operands.x, 3 * i + c) - centre, 2);
    }
    const double unbiased = batch == 1 ? 0 : squares / static_cast<double>(batch - 1);
    const auto at = static_cast<std::size_t>(c);
    CHECK(probes::value_at(fixture.operands.state[0], c) ==
          Approx(0.75 * mean[at] + 0.25 * centre).margin(1e-6));
    CHECK(probes::value_at(fixture.operands.state[1], c) ==
          Approx(0.75 * variance[at] + 0.25 * unbiased).margin(1e-6));
  }
}

TEST_CASE("evaluation reads running means, changes none, and drops nothing") {
  const auto backend = make_cpu_backend(2);
  for (const Shaped& shaped : shapes()) {
    Fixture fixture(shaped.graph, 3);
    fixture.operands.mode = Mode::evaluate;
    fixture.operands.step = nullptr;
    std::vector<std::vector<double>> before;
    for (const View& state : fixture.operands.state) before.push_back(values(state));
    fixture.run_forward(*backend);
    INFO(shaped.name);
    CHECK(wrong(fixture, Direction::forward) == 0);
    for (std::size_t i = 0; i < before.size(); ++i) {
      CHECK(values(fixture.operands.state[i]) == before[i]);
    }
  }
}

TEST_CASE("a norm on the network's input gives the gradients of its parameters alone") {
  const auto backend = make_cpu_backend(2);
  for (const Shaped& shaped : shapes()) {
    Fixture fixture(shaped.graph, 3);
    if (does_something(fixture.op(), Direction::backward_weights)) continue;
    if (fixture.op().parameters.empty()) continue;
    fixture.operands.dx = {};
    fixture.run_forward(*backend);
    const probes::Oracle oracle(shaped.graph, fixture.op(), Direction::backward_data,
                                fixture.operands);
    for (std::int64_t i = 0; i < oracle.outputs(); ++i) oracle.poison(i);
    fixture.make(*backend, Direction::backward_data)->execute();
    INFO(shaped.name);
    CHECK(oracle.outputs() == 2 * elements(fixture.op().parameters[0].shape));
    CHECK(wrong(fixture, Direction::backward_data) == 0);
  }
}

TEST_CASE("a dropout mask depends on the sample's place in the global batch, not on the ranks") {
  const auto backend = make_cpu_backend(2);
  const Graph graph = graph_of({5, 301}, [](GraphBuilder& g) { g.dropout("drop", 0, 0.25); });
  Fixture whole(graph, 80), half(graph, 40);
  whole.step.first_sample = 0;
  half.step.first_sample = 40;
  const std::int64_t sample = 5 * 301;
  for (Fixture* fixture : {&whole, &half}) {  // ones: what comes out is the mask
    for (std::int64_t i = 0; i < fixture->operands.x.elements; ++i) {
      probes::set_value(fixture->operands.x, i, 1.0);
    }
    fixture->run_forward(*backend);
  }
  const auto all = values(whole.operands.y), part = values(half.operands.y);
  CHECK(std::vector<double>(all.begin() + 40 * sample, all.end()) == part);
  const auto dropped = static_cast<double>(std::count(all.begin(), all.end(), 0.0));
  const auto count = static_cast<double>(all.size());
  CHECK(std::abs(dropped / count - 0.25) < 5 * std::sqrt(0.25 * 0.75 / count));

  // Every sample, step, seed and operator has a mask of its own.
  const std::vector<double> first(all.begin(), all.begin() + sample);
  CHECK(first != std::vector<double>(all.begin() + sample, all.begin() + 2 * sample));
  whole.step.step += 1;
  whole.run_forward(*backend);
  const auto next = values(whole.operands.y);
  CHECK(next != all);
  whole.step.step -= 1;
  whole.step.seed += 1;
  whole.run_forward(*backend);
  CHECK(values(whole.operands.y) != all);
  CHECK(values(whole.operands.y) != next);
  const Graph other = graph_of({5, 301}, [](GraphBuilder& g) { g.dropout("drop2", 0, 0.25); });
  Fixture renamed(other, 40);
  renamed.operands.x = half.operands.x;
  renamed.step = half.step;
  renamed.run_forward(*backend);
  CHECK(values(renamed.operands.y) != part);
}

TEST_CASE("an embedding's gradient is the same to the bit for any number of threads") {
  const Graph graph = graph_of(
      {33}, [](GraphBuilder& g) { g.embedding("table", 0, 91, 301); }, true);
  std::vector<std::vector<double>> results;
  for (const int threads : {1, 2, 3}) {
    const auto backend = make_cpu_backend(threads);
    Fixture fixture(graph, 41);
    fixture.make(*backend, Direction::backward_weights)->execute();
    results.push_back(values(fixture.operands.dw[0]));
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

TEST_CASE("what may be done in place gives the same in place") {
  const auto backend = make_cpu_backend(1);
  const DType dtype = GENERATE(DType::f32, DType::bf16);
  if (!computes_in(*backend, dtype)) return;
  const Graph sum = graph_of({19}, [](GraphBuilder& g) { g.add("op", 0, 0); });
  const Graph drop = graph_of({19}, [](GraphBuilder& g) { g.dropout("op", 0, 0.5); });
  const Graph gelu = graph_of({19}, [](GraphBuilder& g) { g.gelu("op", 0); });
  for (const Graph* graph : {&sum, &drop}) {
    Fixture apart(*graph, 3, 1, 0, dtype), together(*graph, 3, 1, 0, dtype);
    apart.run_forward(*backend);
    together.operands.y = together.operands.x;
    together.run_forward(*backend);
    CHECK(values(together.operands.y) == values(apart.operands.y));
  }
  Fixture second(sum, 3, 1, 0, dtype), apart(sum, 3, 1, 0, dtype);
  apart.run_forward(*backend);
  second.operands.y = second.operands.x2;
  second.run_forward(*backend);
  CHECK(values(second.operands.y) == values(apart.operands.y));
  for (const Graph* graph : {&drop, &gelu}) {
    Fixture one(*graph, 3, 1, 0, dtype), same(*graph, 3, 1, 0, dtype);
    one.make(*backend, Direction::backward_data)->execute();
    same.operands.dx = same.operands.dy;
    same.make(*backend, Direction::backward_data)->execute();
    CHECK(values(same.operands.dx) == values(one.operands.dx));
  }
}

TEST_CASE("gradients of one tensor add up") {
  const int threads = GENERATE(1, 2);
  const std::int64_t count = GENERATE(1, 37, 200003);
  const DType dtype = GENERATE(DType::f32, DType::bf16);
  const auto backend = make_cpu_backend(threads);
  Storage sum(count, 1, 1, dtype), term(count, 2, 1, dtype);
  const auto a = values(sum.view()), b = values(term.view());
  const auto kernel = backend->make_accumulate(sum.view(), term.view());
  kernel->execute();
  const auto actual = values(sum.view());
  std::int64_t off = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double bound = dtype == DType::bf16 ? 1.0 / 256 : 1e-7;
    if (!(std::abs(actual[i] - a[i] - b[i]) <= bound * std::abs(a[i] + b[i]))) ++off;
  }
  CHECK(off == 0);
  CHECK(kernel->counted().flop.value() == static_cast<double>(count));
  CHECK(kernel->counted().bytes.value() == static_cast<double>(3 * count * size_of(dtype)));
  const Graph graph = graph_of({count}, [](GraphBuilder& g) {
    const int x = g.linear("fc", 0, 1);  // its output is read twice
    g.add("sum", x, x);
  });
  CHECK(accumulation_cost(graph, 1, count, dtype).bytes.value() == kernel->counted().bytes.value());
}

TEST_CASE("conversion rounds to nearest even and keeps what is no number") {
  const auto backend = make_cpu_backend(2);
  const std::vector<std::pair<float, std::uint16_t>> cases{
      {1.0F, 0x3F80},
      {1.00390625F, 0x3F80},  // halfway to the next: the even one below
      {1.01171875F, 0x3F82},  // halfway: the even one above
      {1.005F, 0x3F81},
      {-2.5F, 0xC020},
      {3.4e38F, 0x7F80},  // beyond the largest: infinite
      {std::numeric_limits<float>::infinity(), 0x7F80}};
  std::vector<float> from;
  for (const auto& [value, half] : cases) from.push_back(value);
  from.push_back(std::numeric_limits<float>::quiet_NaN());
  std::uint32_t bits = 0x7FFFFFFF;  // a NaN whose payload must not round into infinity or zero
  from.push_back(0);
  std::memcpy(&from.back(), &bits, sizeof(bits));
  std::vector<std::uint16_t> to(from.size());
  std::vector<float> back(from.size());
  const auto count = std::ssize(from);
  const View f{.data = from.data(), .elements = count, .dtype = DType::f32};
  const View h{.data = to.data(), .elements = count, .dtype = DType::bf16};
  const View b{.data = back.data(), .elements = count, .dtype = DType::f32};
  backend->make_convert(f, h)->execute();
  for (std::size_t i = 0; i < cases.size(); ++i) CHECK(to[i] == cases[i].second);
  backend->make_convert(h, b)->execute();
  CHECK(back[1] == 1.0F);
  CHECK(back[4] == -2.5F);
  CHECK(std::isnan(back[cases.size()]));
  CHECK(std::isnan(back[cases.size() + 1]));
  const View less{.data = to.data(), .elements = count - 1, .dtype = DType::bf16};
  CHECK_THROWS_AS(backend->make_convert(f, less), Error);
  CHECK_THROWS_AS(backend->make_accumulate(f, h), Error);
  CHECK_THROWS_AS(backend->make_accumulate(f, View{}), Error);
}

}  // namespace
}  // namespace plimsoll::trainer::test
