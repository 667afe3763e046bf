// The client's and the server's part of a round trip, each in its own pinned thread.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/system/buffer.hpp"
#include "probes/harness/team.hpp"
#include "probes/network/transport.hpp"
#include "probes/operation_times.hpp"
#include "probes/probe.hpp"

namespace plimsoll::probes {

class PingPong : public Subject {
 public:
  // The client is pinned to the first CPU, the server to the second.
  PingPong(std::unique_ptr<Transport> transport, std::int64_t bytes, std::vector<int> cpus);

  // The client's clock, from its first send to its last receive.
  Seconds run(std::int64_t operations) override;
  [[nodiscard]] double work() const override { return 1; }
  [[nodiscard]] std::optional<std::string> verify() override;
  [[nodiscard]] std::map<std::string, double> summary() const override { return times_.summary(); }
  [[nodiscard]] std::string source() const override;

 private:
  [[nodiscard]] std::span<std::byte> sent() const { return {sent_.data(), sent_.size()}; }
  [[nodiscard]] std::span<std::byte> returned() const {
    return {returned_.data(), returned_.size()};
  }
  void trip();
  template <class Client>
  void play(std::int64_t trips, const Client& client);

  std::unique_ptr<Transport> transport_;
  std::vector<int> cpus_;
  Team team_;
  sys::Buffer sent_, returned_, echoed_;
  OperationTimes times_;
  std::uint64_t number_ = 0;
  std::uint64_t contents_ = 1;
  std::int64_t wrong_ = 0;
};

}  // namespace plimsoll::probes
