// Question   How long does a message take to another thread of this machine and back?
// Method     Two threads, each pinned to its own CPU, play ping-pong: over a TCP connection of the
//            loopback device (TCP_NODELAY, blocking calls), and through shared memory (a counter
//            that the other side spins on, the message copied in and out). One clock, the client's.
// Reports    network.round_trip.time by transport and message size: there and back, never halved;
//            percentiles of single trips in the summary (operation_p99_s and so on).
// Expect     TCP 1e-5..1e-4 s for small messages, most of it waking the other thread; shared
//            memory 1e-7..1e-6 s.
// Beware     Loopback touches no network card: it is a test of the kernel and its scheduler, and a
//            floor for any real network. A busy neighbour shows in the percentiles first.
// Verifies   The first and last byte of every message carry its number and are compared on return;
//            a whole message of fresh contents is compared before and after.
// Feeds      Machine::links, through models/fit/transfers.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/system/clock.hpp"
#include "probes/harness/team.hpp"
#include "probes/network/transport.hpp"
#include "probes/operation_times.hpp"
#include "probes/probe.hpp"

namespace plimsoll::probes {
namespace {

constexpr std::int64_t kSizes[] = {1, 64, 4096, 65536, 1 << 20};
constexpr std::int64_t kLargeMessage = 64 << 20;  // from here on each case has memory for itself
constexpr std::int64_t kSingleTrips = 64;         // timed one by one after each sample

sys::Buffer message_buffer(std::int64_t bytes, const char* purpose) {
  return {Bytes(static_cast<double>(bytes)), purpose};
}

class RoundTrip : public Subject {
 public:
  RoundTrip(std::unique_ptr<Transport> transport, std::int64_t bytes, std::vector<int> cpus)
      : transport_(std::move(transport)),
        cpus_(std::move(cpus)),
        team_(cpus_),
        sent_(message_buffer(bytes, "the message sent")),
        returned_(message_buffer(bytes, "the message returned")),
        echoed_(message_buffer(bytes, "the message echoed")) {}

  Seconds run(std::int64_t operations) override {
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

  [[nodiscard]] double work() const override { return 1; }

  [[nodiscard]] std::optional<std::string> verify() override {
    for (std::byte& value : sent()) value = static_cast<std::byte>((contents_ += 167) >> 3);
    std::memset(returned_.data(), 0, returned_.size());
    play(1, [&] { trip(); });
    if (std::memcmp(sent_.data(), returned_.data(), sent_.size()) != 0) {
      return "a message came back changed";
    }
    if (wrong_ > 0) return fmt::format("{} messages came back with another number", wrong_);
    return std::nullopt;
  }

  [[nodiscard]] std::map<std::string, double> summary() const override { return times_.summary(); }

  [[nodiscard]] std::string source() const override {
    return fmt::format("{}, CPUs {} and {}", transport_->describe(), cpus_.front(), cpus_.back());
  }

 private:
  [[nodiscard]] std::span<std::byte> sent() const { return {sent_.data(), sent_.size()}; }
  [[nodiscard]] std::span<std::byte> returned() const {
    return {returned_.data(), returned_.size()};
  }

  void trip() {
    const auto number = static_cast<std::byte>(++number_);
    sent().front() = sent().back() = number;
    transport_->send(0, sent());
    transport_->receive(0, returned());
    if (returned().front() != number || returned().back() != number) ++wrong_;
  }

  // The client's part in one thread, as many echoes in the other. Whoever fails ends both.
  template <class Client>
  void play(std::int64_t trips, const Client& client) {
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

  std::unique_ptr<Transport> transport_;
  std::vector<int> cpus_;
  Team team_;
  sys::Buffer sent_, returned_, echoed_;
  OperationTimes times_;
  std::uint64_t number_ = 0;
  std::uint64_t contents_ = 1;
  std::int64_t wrong_ = 0;
};

std::vector<Case> cases(const ProbeOptions& options) {
  std::vector<std::int64_t> sizes = options.sizes;
  if (sizes.empty()) sizes.assign(std::begin(kSizes), std::end(kSizes));
  const int first = options.cpus.front();
  const int second = options.cpus.size() > 1 ? options.cpus[1] : first;
  std::vector<Case> list;
  for (const bool tcp : {true, false}) {
    for (const std::int64_t bytes : sizes) {
      const auto make = [=]() -> std::unique_ptr<Subject> {
        auto transport = tcp ? make_tcp_transport() : make_shared_memory_transport(bytes);
        return std::make_unique<RoundTrip>(std::move(transport), bytes,
                                           std::vector<int>{first, second});
      };
      list.push_back(
          {.metric = 0,
           .params = {{"transport", std::string(tcp ? "tcp" : "shared_memory")}, {"bytes", bytes}},
           .make = make,
           .skip = tcp || first != second ? "" : "two usable CPUs are needed to spin",
           .group = bytes < kLargeMessage ? 0 : static_cast<int>(list.size()) + 1});
    }
  }
  return list;
}

const ProbeInfo kInfo{
    .id = "network.round_trip",
    .question = "How long does a message take to another thread of this machine and back?",
    .method = "Ping-pong of two pinned threads over loopback TCP and through shared memory",
    .metrics = {{.name = "network.round_trip.time",
                 .unit = "s",
                 .meaning = "A message of so many bytes there and the same back, on one clock",
                 .at_least = 2e-8,
                 .at_most = 60}},
    .takes_sizes = true};

}  // namespace
}  // namespace plimsoll::probes

int main(int argc, char** argv) {
  return plimsoll::probes::run_probe(argc, argv, plimsoll::probes::kInfo, plimsoll::probes::cases);
}
