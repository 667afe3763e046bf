// Two ways to keep several reads in flight: io_uring, and where the kernel or the build has none,
// threads that each wait in pread.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/system/buffer.hpp"
#include "core/units.hpp"

namespace plimsoll::probes {

// Where each read in flight puts its block, and which offset of the file lies there now.
struct Slots {
  Slots(int depth, std::int64_t block_bytes);
  [[nodiscard]] std::span<std::byte> block(std::size_t slot) const;

  std::int64_t block_bytes;
  sys::Buffer buffer;
  std::vector<std::int64_t> offsets;  // -1: nothing yet
};

class Engine {
 public:
  virtual ~Engine() = default;
  // Reads one block at each offset, as many in flight as there are slots. Returns the time from the
  // first start to the last end; times[i] becomes the time that read i was in flight. Error when a
  // read fails or is short.
  virtual Seconds read(int fd, std::span<const std::int64_t> offsets, Slots& slots,
                       std::span<double> times) = 0;
};

// "io_uring" or "threads"; why it is not io_uring, or nothing.
struct EngineChoice {
  std::string name, why;
};
[[nodiscard]] EngineChoice choose_engine();
[[nodiscard]] std::unique_ptr<Engine> make_engine(const std::string& name, int depth);

// Parts of the above, for tests.
[[nodiscard]] std::unique_ptr<Engine> make_thread_engine();
[[nodiscard]] std::unique_ptr<Engine> make_uring_engine(int depth);  // null: not built in
// What the kernel says to a small ring: nothing, or the reason in words.
[[nodiscard]] std::string uring_refused();

}  // namespace plimsoll::probes
