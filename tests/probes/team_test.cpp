// The thread team: everybody works, on the CPU it was given, at the same time; errors come out.

#include <atomic>
#include <stdexcept>

#include "core/system/affinity.hpp"
#include "probes/harness/team.hpp"
#include "tests/catch.hpp"

namespace plimsoll::probes {
namespace {

TEST_CASE("every thread runs once on its own CPU") {
  const std::vector<int> usable = sys::affinity().ids();
  const std::vector<int> cpus(usable.begin(),
                              usable.begin() + std::min<long>(2, std::ssize(usable)));
  Team team(cpus);
  REQUIRE(team.size() == std::ssize(cpus));
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::vector<int> ran(cpus.size(), -1);
    const Seconds time = team.run([&](int thread) {
      const auto at = static_cast<std::size_t>(thread);
      const sys::CpuSet here = sys::affinity();
      ran[at] = here.count() == 1 ? here.first() : -2;
    });
    CHECK(ran == cpus);
    CHECK(time > Seconds(0));
  }
}

TEST_CASE("threads are inside at the same time") {
  const std::vector<int> usable = sys::affinity().ids();
  Team team({usable.front(), usable.back()});
  std::atomic<int> inside{0};
  // Would never end if one had to finish before the other began.
  team.run([&](int) {
    inside.fetch_add(1);
    while (inside.load() < 2) std::atomic_thread_fence(std::memory_order_seq_cst);
  });
  CHECK(inside.load() == 2);
}

TEST_CASE("an exception comes out and the team goes on") {
  Team team({sys::affinity().first()});
  CHECK_THROWS_AS(team.run([](int) { throw std::runtime_error("no"); }), std::runtime_error);
  int ran = 0;
  team.run([&](int) { ++ran; });
  CHECK(ran == 1);
}

TEST_CASE("a CPU that cannot be pinned to is an error") { CHECK_THROWS(Team({1 << 20})); }

}  // namespace
}  // namespace plimsoll::probes
