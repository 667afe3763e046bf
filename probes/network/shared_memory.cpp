// Messages through memory that both threads see.

#include <atomic>
#include <cstring>

#include "core/error.hpp"
#include "probes/network/transport.hpp"

namespace plimsoll::probes {
namespace {

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// [counter][message...]: the counter is written by one side only.
class Mailbox {
 public:
  explicit Mailbox(std::int64_t bytes)
      : memory_(Bytes(static_cast<double>(bytes) + sizeof(std::uint64_t)), "a mailbox") {}

  void put(std::span<const std::byte> message) {
    std::memcpy(payload(), message.data(), message.size());
    counter().store(++put_, std::memory_order_release);
  }

  void take(std::span<std::byte> message, const std::atomic<bool>& aborted) {
    ++taken_;
    while (counter().load(std::memory_order_acquire) != taken_) {
      if (aborted.load(std::memory_order_relaxed)) {
        throw Error("the other side gave up", "shared memory", "see its own message");
      }
      relax();
    }
    std::memcpy(message.data(), payload(), message.size());
  }

 private:
  [[nodiscard]] std::atomic_ref<std::uint64_t> counter() const {
    return std::atomic_ref<std::uint64_t>(*memory_.as<std::uint64_t>().data());
  }
  [[nodiscard]] std::byte* payload() const { return memory_.data() + sizeof(std::uint64_t); }

  sys::Buffer memory_;
  // Each belongs to one side; apart, so that counting does not move a line between the cores.
  alignas(128) std::uint64_t put_ = 0;
  alignas(128) std::uint64_t taken_ = 0;
};

class SharedMemory : public Transport {
 public:
  explicit SharedMemory(std::int64_t bytes) : boxes_{Mailbox(bytes), Mailbox(bytes)} {}

  void send(int side, std::span<const std::byte> message) override {
    boxes_.at(static_cast<std::size_t>(side)).put(message);
  }
  void receive(int side, std::span<std::byte> message) override {
    boxes_.at(static_cast<std::size_t>(1 - side)).take(message, aborted_);
  }
  void abort() override { aborted_ = true; }
  [[nodiscard]] std::string describe() const override { return "shared memory, copied in and out"; }

 private:
  std::array<Mailbox, 2> boxes_;  // by sender
  std::atomic<bool> aborted_{false};
};

}  // namespace

std::unique_ptr<Transport> make_shared_memory_transport(std::int64_t most_bytes) {
  return std::make_unique<SharedMemory>(most_bytes);
}

}  // namespace plimsoll::probes
