// Reads in flight through one io_uring: a slot that comes back is sent off again at once.

#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/error.hpp"
#include "core/system/clock.hpp"
#include "probes/storage/engine.hpp"

namespace plimsoll::probes {
namespace {

// liburing returns errors as negative numbers and leaves errno alone.
std::string reason(int negative) { return std::system_category().message(-negative); }

class UringEngine : public Engine {
 public:
  explicit UringEngine(int depth) {
    if (const int code = io_uring_queue_init(static_cast<unsigned>(depth), &ring_, 0); code < 0) {
      throw Error("io_uring refused: " + reason(code), "io_uring_setup",
                  "allow it (sysctl kernel.io_uring_disabled, container profile)");
    }
  }
  ~UringEngine() override { io_uring_queue_exit(&ring_); }
  UringEngine(const UringEngine&) = delete;
  UringEngine& operator=(const UringEngine&) = delete;

  Seconds read(int fd, std::span<const std::int64_t> offsets, Slots& slots,
               std::span<double> times) override {
    std::vector<std::size_t> read_in(slots.offsets.size());  // slot -> which read it carries
    std::size_t next = 0, in_flight = 0;
    int error = 0;
    const auto send = [&](std::size_t slot) {
      io_uring_sqe* entry = io_uring_get_sqe(&ring_);
      expects(entry != nullptr, "io_uring: more reads in flight than the ring was made for");
      const std::span<std::byte> block = slots.block(slot);
      io_uring_prep_read(entry, fd, block.data(), static_cast<unsigned>(block.size()),
                         static_cast<std::uint64_t>(offsets[next]));
      io_uring_sqe_set_data64(entry, slot);
      slots.offsets[slot] = offsets[next];
      read_in[slot] = next;
      times[next++] = sys::now().value();  // when it began, until it ends
      ++in_flight;
    };
    const Seconds begin = sys::now();
    for (std::size_t slot = 0; slot < std::min(read_in.size(), offsets.size()); ++slot) send(slot);
    while (in_flight > 0) {
      const int code = io_uring_submit_and_wait(&ring_, 1);
      if (code < 0 && code != -EINTR && code != -EAGAIN && code != -EBUSY) {
        error = error != 0 ? error : code;
        break;
      }
      io_uring_cqe* done = nullptr;
      while (io_uring_peek_cqe(&ring_, &done) == 0) {
        const auto slot = static_cast<std::size_t>(io_uring_cqe_get_data64(done));
        const int result = done->res;
        io_uring_cqe_seen(&ring_, done);
        --in_flight;
        times[read_in[slot]] = sys::now().value() - times[read_in[slot]];
        if (result != slots.block_bytes && error == 0) error = result < 0 ? result : -EIO;
        if (next < offsets.size() && error == 0) send(slot);
      }
    }
    const Seconds end = sys::now();
    if (error != 0) {
      throw Error("a read failed: " + reason(error), "the scratch file",
                  "check the device, or name another directory: --dir DIR");
    }
    return end - begin;
  }

 private:
  io_uring ring_{};
};

}  // namespace

std::unique_ptr<Engine> make_uring_engine(int depth) {
  return std::make_unique<UringEngine>(depth);
}

std::string uring_refused() {
  io_uring ring{};
  const int code = io_uring_queue_init(2, &ring, 0);
  if (code < 0) return reason(code);
  io_uring_queue_exit(&ring);
  return {};
}

}  // namespace plimsoll::probes
