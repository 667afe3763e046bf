// Reads in flight by as many threads that wait in pread; one in flight needs no thread at all.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <system_error>
#include <thread>

#include "core/error.hpp"
#include "core/system/clock.hpp"
#include "probes/storage/engine.hpp"

namespace plimsoll::probes {
namespace {

class ThreadEngine : public Engine {
 public:
  Seconds read(int fd, std::span<const std::int64_t> offsets, Slots& slots,
               std::span<double> times) override {
    std::atomic<std::size_t> next{0};
    std::atomic<int> error{0};
    const auto work = [&](std::size_t slot) {
      for (std::size_t i; error == 0 && (i = next++) < offsets.size();) {
        const Seconds begin = sys::now();
        const int failed = read_block(fd, slots.block(slot), offsets[i]);
        times[i] = (sys::now() - begin).value();
        slots.offsets[slot] = offsets[i];
        if (failed != 0) error = failed;
      }
    };
    const std::size_t depth = std::min(slots.offsets.size(), offsets.size());
    Seconds begin = sys::now();
    Seconds end = begin;
    if (depth <= 1) {
      work(0);
      end = sys::now();
    } else {
      run_in_threads(depth, work, begin, end);
    }
    if (error != 0) {
      throw Error("a read failed: " + std::system_category().message(error), "the scratch file",
                  "check the device, or name another directory: --dir DIR");
    }
    return end - begin;
  }

 private:
  // 0 or the error; a read that ends early is one, too.
  static int read_block(int fd, std::span<std::byte> block, std::int64_t offset) {
    for (;;) {
      const ssize_t got = pread(fd, block.data(), block.size(), offset);
      if (got == static_cast<ssize_t>(block.size())) return 0;
      if (got >= 0) return EIO;
      if (errno != EINTR) return errno;
    }
  }

  // Making the threads is not timed: they begin together.
  template <class Work>
  static void run_in_threads(std::size_t count, const Work& work, Seconds& begin, Seconds& end) {
    std::barrier start(static_cast<std::ptrdiff_t>(count) + 1);
    std::barrier stop(static_cast<std::ptrdiff_t>(count) + 1);
    std::vector<std::jthread> threads;
    for (std::size_t slot = 0; slot < count; ++slot) {
      threads.emplace_back([&, slot] {
        start.arrive_and_wait();
        work(slot);
        stop.arrive_and_wait();
      });
    }
    begin = sys::now();
    start.arrive_and_wait();
    stop.arrive_and_wait();
    end = sys::now();
  }
};

}  // namespace

std::unique_ptr<Engine> make_thread_engine() { return std::make_unique<ThreadEngine>(); }

}  // namespace plimsoll::probes
