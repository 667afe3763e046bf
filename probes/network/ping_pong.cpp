// The game; the rules are in the header.

#include "probes/network/ping_pong.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/system/clock.hpp"

namespace plimsoll::probes {
namespace {

constexpr std::int64_t kSingleTrips = 64;  // timed one by one after each sample

sys::Buffer message_buffer(std::int64_t bytes, const char* purpose) {
  return {Bytes(static_cast<double>(bytes)), purpose};
}

}  // namespace

PingPong::PingPong(std::unique_ptr<Transport> transport, std::int64_t bytes, std::vector<int> cpus)
    : transport_(std::move(transport)),
      cpus_(std::move(cpus)),
      team_(cpus_),
      sent_(message_buffer(bytes, "the message sent")),
      returned_(message_buffer(bytes, "the message returned")),
      echoed_(message_buffer(bytes, "the message echoed")) {}

// The client's part in one thread, as many echoes in the other. Whoever fails ends both.
template <class Client>
void PingPong::play(std::int64_t trips, const Client& client) {
  team_.run([&](int thread) {
    try {
      if (thread == 0) {
        client();
      } else {
        const std::span<std::byte> message{echoed_.data(), echoed_.size()};
        for (std::int64_t i = 0; i < trips; ++i) {
          transport_->receive(1, message);
          transport_->send(1, message);
        }
      }
    } catch (...) {
      transport_->abort();
      throw;
    }
  });
}

Seconds PingPong::run(std::int64_t operations) {
  Seconds time;
  play(operations + 1, [&] {
    trip();  // the server may still be on its way
    const Seconds begin = sys::now();
    for (std::int64_t i = 0; i < operations; ++i) trip();
    time = sys::now() - begin;
  });
  const std::int64_t singles = std::min(operations, kSingleTrips);
  play(singles + 1, [&] {
    trip();
    for (std::int64_t i = 0; i < singles; ++i) {
      const Seconds begin = sys::now();
      trip();
      times_.add(sys::now() - begin);
    }
  });
  return time;
}

std::optional<std::string> PingPong::verify() {
  for (std::byte& value : sent()) value = static_cast<std::byte>((contents_ += 167) >> 3);
  std::memset(returned_.data(), 0, returned_.size());
  play(1, [&] { trip(); });
  if (std::memcmp(sent_.data(), returned_.data(), sent_.size()) != 0) {
    return "a message came back changed";
  }
  if (wrong_ > 0) return fmt::format("{} messages came back with another number", wrong_);
  return std::nullopt;
}

std::string PingPong::source() const {
  return fmt::format("{}, CPUs {} and {}", transport_->describe(), cpus_.front(), cpus_.back());
}

void PingPong::trip() {
  const auto number = static_cast<std::byte>(++number_);
  sent().front() = sent().back() = number;
  transport_->send(0, sent());
  transport_->receive(0, returned());
  if (returned().front() != number || returned().back() != number) ++wrong_;
}

}  // namespace plimsoll::probes
