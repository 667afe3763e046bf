// The parts of the memory and flops probes: rings and their check, curves and their levels, stream
// kernels and arenas, multiply-add blocks.

#include <algorithm>
#include <string>
#include <vector>

#include "core/system/affinity.hpp"
#include "core/system/provenance.hpp"
#include "probes/cpu/flops_kernels.hpp"
#include "probes/memory/cache_levels.hpp"
#include "probes/memory/ring.hpp"
#include "probes/memory/stream_arena.hpp"
#include "probes/memory/stream_subject.hpp"
#include "tests/catch.hpp"

namespace plimsoll::probes {
namespace {

struct Memory {
  alignas(128) std::byte bytes[1 << 16];
};

TEST_CASE("a linked ring is one cycle, for any count") {
  const auto memory = std::make_unique<Memory>();
  for (const std::size_t count : {1UL, 2UL, 3UL, 5UL, 16UL, 17UL, 31UL, 100UL, 1023UL}) {
    const Ring ring({memory->bytes, count * 64}, 64);
    link(ring, 1);
    INFO(count);
    CHECK_FALSE(flaw_of(ring).has_value());
    std::size_t steps = 1;
    for (const Node* at = ring.at(0)->next; at != ring.at(0) && steps <= count; at = at->next) {
      ++steps;
    }
    CHECK(steps == count);
  }
}

TEST_CASE("seeds give other walks, the same seed the same") {
  const auto memory = std::make_unique<Memory>();
  const Ring ring({memory->bytes, 64 * 64}, 64);
  const auto walk = [&](std::uint64_t seed) {
    link(ring, seed);
    std::vector<const Node*> order;
    for (const Node* at = ring.at(0)->next; at != ring.at(0); at = at->next) order.push_back(at);
    return order;
  };
  CHECK(walk(1) == walk(1));
  CHECK(walk(1) != walk(2));
}

TEST_CASE("the check refuses every ring that is not whole") {
  const auto memory = std::make_unique<Memory>();
  const Ring ring({memory->bytes, 100 * 64}, 64);
  const auto refused = [&] { return flaw_of(ring).has_value(); };
  link(ring, 1);
  REQUIRE_FALSE(refused());
  Node* const first = ring.at(0);
  Node* const elsewhere = first->next->next->next;

  SECTION("two cycles") {
    std::swap(first->next, elsewhere->next);
    CHECK(refused());
  }
  SECTION("a short cut: some nodes are never met") {
    first->next = elsewhere;
    CHECK(refused());
  }
  SECTION("a node that leads to itself") {
    ring.at(7)->next = ring.at(7);
    CHECK(refused());
  }
  SECTION("a way out") {
    ring.at(50)->next = nullptr;
    CHECK(refused());
  }
  SECTION("two half cycles") {
    for (std::size_t i = 0; i < 50; ++i) {
      ring.at(i)->next = ring.at((i + 1) % 50);
      ring.at(50 + i)->next = ring.at(50 + (i + 1) % 50);
    }
    CHECK(refused());
  }
  SECTION("and repaired it is accepted again") { CHECK_FALSE(refused()); }
}

std::vector<LatencyPoint> curve() {
  constexpr double kKiB = 1024;
  return {{Bytes(4 * kKiB), Seconds(1.0e-9)},     {Bytes(16 * kKiB), Seconds(1.0e-9)},
          {Bytes(32 * kKiB), Seconds(1.1e-9)},    {Bytes(64 * kKiB), Seconds(3.3e-9)},
          {Bytes(512 * kKiB), Seconds(3.6e-9)},   {Bytes(1024 * kKiB), Seconds(3.7e-9)},
          {Bytes(2048 * kKiB), Seconds(12e-9)},   {Bytes(8192 * kKiB), Seconds(14e-9)},
          {Bytes(65536 * kKiB), Seconds(120e-9)}, {Bytes(262144 * kKiB), Seconds(125e-9)}};
}

TEST_CASE("flat stretches of a curve are found") {
  const std::vector<Plateau> plateaus = find_plateaus(curve());
  REQUIRE(plateaus.size() == 4);
  CHECK(plateaus[0].last == Bytes(32 * 1024));
  CHECK(plateaus[1].last == Bytes(1024 * 1024));
  CHECK(plateaus[2].latency.value() == Approx(13e-9));
  CHECK(plateaus[3].last == Bytes(262144.0 * 1024));
  CHECK(find_plateaus({}).empty());
}

TEST_CASE("caches are held against the curve") {
  const std::vector<CacheFact> caches = {
      {.level = 1, .type = "data", .size_bytes = 48 << 10, .instances = 1},
      {.level = 1, .type = "instruction", .size_bytes = 32 << 10, .instances = 1},
      {.level = 2, .type = "unified", .size_bytes = 1 << 20, .instances = 1},
      {.level = 3, .type = "unified", .size_bytes = 96 << 20, .instances = 1},
      {.level = 4, .type = "unified", .size_bytes = {}, .instances = 1}};
  const std::vector<LevelCheck> checks = check_levels(find_plateaus(curve()), caches);
  REQUIRE(checks.size() == 3);
  CHECK(checks[0].found == Bytes(32 * 1024));
  CHECK(checks[1].found == Bytes(1024 * 1024));
  CHECK_FALSE(checks[2].found.has_value());
  const std::vector<Finding> findings = cache_findings(curve(), caches);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].id == "memory.cache_levels");
  CHECK(findings[1].id == "memory.cache_size");
  CHECK(findings[1].message.find("96 MiB") != std::string::npos);
}

TEST_CASE("stream kernels are right at odd sizes, on one thread and two") {
  const std::vector<int> cpus = sys::affinity().ids();
  for (const int threads : {1, 2}) {
    const auto team =
        std::make_shared<Team>(threads == 1 ? std::vector<int>{cpus.front()}
                                            : std::vector<int>{cpus.front(), cpus.back()});
    for (const std::int64_t bytes : {1536 * 2, 24576, 100000, 1000000, 3000001}) {
      const auto arena = std::make_shared<StreamArena>(bytes, team);
      for (const StreamKernel kernel : kStreamKernels) {
        const StreamKernels& kernels = stream_kernels();
        if (kernel == StreamKernel::nt_write && kernels.nt_write == nullptr) continue;
        INFO(name_of(kernel) << " " << bytes << " x " << threads);
        StreamSubject subject(kernel, kernels, arena, 1 << 30);
        const auto wrong = subject.verify();
        CHECK(wrong.value_or("") == "");
        CHECK(subject.run(3) > Seconds(0));
        CHECK(subject.work() <= static_cast<double>(bytes));
      }
    }
  }
}

TEST_CASE("arenas keep threads, blocks and arrays apart") {
  const std::vector<int> cpus = sys::affinity().ids();
  const auto team = std::make_shared<Team>(std::vector<int>{cpus.front(), cpus.back()});
  const StreamArena arena(5000000, team);
  for (const int arrays : {1, 2, 3}) {
    const double* last_end = nullptr;
    for (int thread = 0; thread < 2; ++thread) {
      for (std::int64_t block = 0; block < arena.blocks(); ++block) {
        for (int array = 0; array < arrays; ++array) {
          const double* const begin = arena.at(thread, block, array, arrays);
          CHECK(reinterpret_cast<std::uintptr_t>(begin) % 64 == 0);
          if (last_end != nullptr) CHECK(begin >= last_end);
          last_end = begin + arena.chunk(arrays);
        }
      }
    }
    CHECK((last_end - arena.at(0, 0, 0, arrays)) * 8 <= 5000000);
  }
  CHECK_THROWS(StreamArena(1000, team));
}

TEST_CASE("a block of multiply-adds gives the sum known in advance") {
  int tried = 0;
  for (const FlopsKernel& kernel : flops_kernels()) {
    if (!kernel.requires_isa.empty() &&
        !sys::has_instruction_set(std::string(kernel.requires_isa))) {
      continue;
    }
    if (!kernel.prepare().empty()) continue;
    INFO(kernel.dtype << " " << kernel.instruction_set);
    CHECK(kernel.block() == kernel.step_sum * static_cast<double>(kBlockIterations));
    ++tried;
  }
  CHECK(tried >= 2);
}

}  // namespace
}  // namespace plimsoll::probes
