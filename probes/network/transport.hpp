// Two ways for two threads to exchange messages: a TCP connection over loopback, and memory that
// both see. Side 0 is the client, side 1 the server; each side belongs to one thread.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/system/buffer.hpp"

namespace plimsoll::probes {

class Transport {
 public:
  virtual ~Transport() = default;
  // The whole message, in one go from the caller's view. Error when the other side gave up.
  virtual void send(int side, std::span<const std::byte> message) = 0;
  virtual void receive(int side, std::span<std::byte> message) = 0;
  // Wakes both sides for good: their calls end with an Error.
  virtual void abort() = 0;
  [[nodiscard]] virtual std::string describe() const = 0;
};

// A connection of 127.0.0.1 with itself, or of ::1 where IPv4 has no loopback; the port is any
// free one. TCP_NODELAY on both ends. Error naming both addresses when neither works.
[[nodiscard]] std::unique_ptr<Transport> make_tcp_transport();

// One mailbox each way: a counter and, right behind it, the message, so that a small one travels
// on the counter's cache line. The sender copies in, the receiver spins on the counter and copies
// out.
[[nodiscard]] std::unique_ptr<Transport> make_shared_memory_transport(std::int64_t most_bytes);

}  // namespace plimsoll::probes
