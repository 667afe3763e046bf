// Two ranks in one process: kernels made and executed at the same time by two threads, each with a
// team of its own, give what one thread alone gives.

#include <omp.h>

#include <thread>

#include "probes/kernel/oracle.hpp"
#include "tests/backend/fixture.hpp"
#include "tests/catch.hpp"

namespace plimsoll::trainer::test {
namespace {

// Everything that all shapes compute, several times over; the number of wrong outputs.
std::int64_t train_a_little(int threads, std::uint64_t seed) {
  const auto backend = make_cpu_backend(threads);
  std::vector<Shaped> all = shapes();
  for (Shaped& shaped : large_shapes()) all.push_back(std::move(shaped));
  std::int64_t wrong = 0;
  for (int round = 0; round < 3; ++round) {
    for (const Shaped& shaped : all) {
      Fixture fixture(shaped.graph, kLargeBatch, seed);
      fixture.run_forward(*backend);
      for (const Direction direction : kDirections) {
        const auto kernel = fixture.make(*backend, direction);
        if (kernel == nullptr) continue;
        for (int i = 0; i < 3; ++i) kernel->execute();
        const probes::Oracle oracle(shaped.graph, fixture.op(), direction, fixture.operands);
        for (std::int64_t i = 0; i < oracle.outputs(); i += 11) wrong += oracle.agrees(i) ? 0 : 1;
      }
    }
  }
  return wrong;
}

TEST_CASE("two threads make and execute kernels at the same time") {
  const int threads = GENERATE(1, 2);
  std::int64_t first = -1, second = -1;
  std::thread one([&] { first = train_a_little(threads, 11); });
  std::thread two([&] { second = train_a_little(threads, 12); });
  one.join();
  two.join();
  CHECK(first == 0);
  CHECK(second == 0);
}

TEST_CASE("a kernel may run on another thread than the one that made it") {
  const auto backend = make_cpu_backend(2);
  for (const Shaped& shaped : shapes()) {
    Fixture fixture(shaped.graph, 5);
    const auto kernel = fixture.make(*backend, Direction::forward);
    std::thread([&] { kernel->execute(); }).join();
    const probes::Oracle oracle(shaped.graph, fixture.op(), Direction::forward, fixture.operands);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < oracle.outputs(); ++i) wrong += oracle.agrees(i) ? 0 : 1;
    INFO(shaped.name);
    CHECK(wrong == 0);
  }
}

TEST_CASE("too little work for a team runs on one thread") {
  const auto backend = make_cpu_backend(2);
  const Shaped shaped = linear(33, 17);
  Fixture fixture(shaped.graph, 5);
  fixture.make(*backend, Direction::forward)->execute();
  CHECK(omp_get_max_threads() == 1);
}

TEST_CASE("the team of one thread does not change another thread's") {
  const auto wide = make_cpu_backend(2), narrow = make_cpu_backend(1);
  const Shaped shaped = linear(301, 203);
  Fixture a(shaped.graph, kLargeBatch), b(shaped.graph, kLargeBatch);
  int seen = 0;
  a.make(*wide, Direction::forward)->execute();
  std::thread([&] {
    b.make(*narrow, Direction::forward)->execute();
    seen = omp_get_max_threads();
  }).join();
  CHECK(seen == 1);
  CHECK(omp_get_max_threads() == 2);
}

}  // namespace
}  // namespace plimsoll::trainer::test
