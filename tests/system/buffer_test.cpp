// Buffers: alignment, pages, and refusal before memory runs out.

#include "core/system/buffer.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/system/tree.hpp"

namespace plimsoll::sys {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

// How many of the pages in [data, data + size) are in memory.
std::size_t resident_pages(const Buffer& buffer) {
  std::vector<unsigned char> pages(buffer.size() / 4096 + 1);
  if (mincore(buffer.data(), buffer.size(), pages.data()) != 0) return 0;
  std::size_t count = 0;
  for (unsigned char page : pages) count += page & 1U;
  return count;
}

}  // namespace

TEST_CASE("a buffer is aligned, zeroed, and touched when asked") {
  const Buffer now(Bytes(4 * kMiB), "a test");
  CHECK(reinterpret_cast<std::uintptr_t>(now.data()) % 4096 == 0);
  CHECK(resident_pages(now) == 1024);
  const Buffer later(Bytes(4 * kMiB), "a test", Page::base, Touch::later);
  CHECK(resident_pages(later) == 0);
  later.touch(static_cast<std::size_t>(kMiB), static_cast<std::size_t>(kMiB));
  CHECK(resident_pages(later) == 256);
  CHECK(now.huge_bytes() == Bytes(0));  // small pages were asked for, whatever the system prefers
}

TEST_CASE("huge pages are requested with their alignment, and what was obtained is told") {
  const Buffer buffer(Bytes(8 * kMiB), "a test", Page::huge);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % (2U << 20U) == 0);
  CHECK(buffer.huge_bytes() >= Bytes(0));
  CHECK(buffer.huge_bytes() <= Bytes(8 * kMiB));
  CHECK(buffer.size() == static_cast<std::size_t>(8 * kMiB));
}

TEST_CASE("a moved buffer has one owner") {
  Buffer first(Bytes(kMiB), "a test");
  first.as<std::uint32_t>()[7] = 42;
  Buffer second(std::move(first));
  CHECK(second.as<std::uint32_t>()[7] == 42);
  Buffer third;
  third = std::move(second);
  CHECK(third.as<std::uint32_t>()[7] == 42);
  CHECK(third.as<std::uint32_t>().size() == static_cast<std::size_t>(kMiB) / 4);
}

TEST_CASE("impossible sizes are refused with needed and available bytes") {
  for (double size : {1e15, 1e17, 1e300}) {
    try {
      const Buffer buffer(Bytes(size), "the moon");
      FAIL("allocated " << size);
    } catch (const Error& error) {
      INFO(error.problem());
      CHECK(error.problem().find("the moon") != std::string::npos);
      CHECK(error.problem().find("needed " + format_bytes(Bytes(size))) != std::string::npos);
      CHECK(error.problem().find("available ") != std::string::npos);
    }
  }
  CHECK(Buffer(Bytes(0), "nothing").size() == 0);
}

TEST_CASE("the room is the smallest of free memory and limits, each minus what is used") {
  testing::Tree tree;
  tree.add("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
  CHECK(memory_room(tree.root()).available == Bytes(4096 * kMiB));
  CHECK(memory_room(tree.root()).bound_by == "available memory");
  tree.add("/sys/fs/cgroup/memory.max", "268435456\n")
      .add("/sys/fs/cgroup/memory.current", "67108864\n");
  CHECK(memory_room(tree.root()).available == Bytes(192 * kMiB));
  CHECK(memory_room(tree.root()).bound_by == "cgroup memory limit");
  CHECK(fitting_size(Bytes(1024 * kMiB), memory_room(tree.root())) == Bytes(144 * kMiB));
  CHECK(fitting_size(Bytes(kMiB), memory_room(tree.root())) == Bytes(kMiB));
  tree.add("/sys/fs/cgroup/memory.current", "999999999\n");
  CHECK(memory_room(tree.root()).available == Bytes(0));
}

TEST_CASE("sizes print with binary prefixes") {
  CHECK(format_bytes(Bytes(0)) == "0 B");
  CHECK(format_bytes(Bytes(1536)) == "1.5 KiB");
  CHECK(format_bytes(Bytes(64 * kMiB)) == "64 MiB");
}

}  // namespace plimsoll::sys
