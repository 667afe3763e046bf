// Pinning: what was asked for, and refusals that name the CPUs.

#include "core/system/affinity.hpp"

#include <sched.h>

#include <thread>

#include "core/error.hpp"
#include "tests/catch.hpp"

namespace plimsoll::sys {

TEST_CASE("a pinned thread runs there, and is released afterwards") {
  const CpuSet before = affinity();
  {
    const ScopedPin one(CpuSet{before.last()});
    CHECK(affinity() == CpuSet{before.last()});
    CHECK(sched_getcpu() == before.last());
  }
  CHECK(affinity() == before);
}

TEST_CASE("pinning one thread leaves the others alone") {
  const CpuSet before = affinity();
  std::thread([&] { pin(before.first()); }).join();
  CHECK(affinity() == before);
}

TEST_CASE("CPUs that are not there are refused by name; masks grow beyond 1024") {
  for (int cpu : {5000, 1023, 1024}) {
    if (affinity().contains(cpu)) continue;
    try {
      pin(cpu);
      FAIL("pinned to CPU " << cpu);
    } catch (const Error& error) {
      CHECK(error.problem().find(std::to_string(cpu)) != std::string::npos);
      CHECK(error.where().find(format_cpulist(affinity())) != std::string::npos);
    }
  }
  CHECK_THROWS_AS(pin(CpuSet{}), Error);
}

}  // namespace plimsoll::sys
