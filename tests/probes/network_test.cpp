// network.round_trip: its transports, the real binary, and a lie that must be noticed.

#include <algorithm>
#include <thread>

#include "core/error.hpp"
#include "core/system/affinity.hpp"
#include "probes/network/ping_pong.hpp"
#include "probes/network/transport.hpp"
#include "tests/probes/run_probe.hpp"

namespace plimsoll::probes {
namespace {

std::vector<std::unique_ptr<Transport>> transports(std::int64_t bytes) {
  std::vector<std::unique_ptr<Transport>> all;
  all.push_back(make_tcp_transport());
  all.push_back(make_shared_memory_transport(bytes));
  return all;
}

TEST_CASE("every transport carries every byte of every size, both ways") {
  for (const std::size_t bytes : {1U, 63U, 64U, 65U, 4096U, 3'000'001U}) {
    for (const auto& transport : transports(static_cast<std::int64_t>(bytes))) {
      INFO(transport->describe() << ", " << bytes << " bytes");
      std::vector<std::byte> sent(bytes), echoed(bytes), returned(bytes);
      for (std::size_t i = 0; i < bytes; ++i) sent[i] = static_cast<std::byte>(i * 31 + 7);
      std::jthread server([&] {
        for (int i = 0; i < 3; ++i) {
          transport->receive(1, echoed);
          transport->send(1, echoed);
        }
      });
      for (int i = 0; i < 3; ++i) {
        sent[0] = static_cast<std::byte>(i);
        transport->send(0, sent);
        transport->receive(0, returned);
        CHECK(sent == returned);
      }
    }
  }
}

TEST_CASE("whoever waits is woken when the other side gives up") {
  for (const auto& transport : transports(64)) {
    INFO(transport->describe());
    bool woken = false;
    {
      std::jthread server([&] {
        std::vector<std::byte> message(64);
        try {
          transport->receive(1, message);
        } catch (const Error&) {
          woken = true;
        }
      });
      transport->abort();
    }
    CHECK(woken);
  }
}

// Carries messages faithfully except for what a test makes of them on their way back.
class Tampering : public Transport {
 public:
  using Tamper = void (*)(std::span<std::byte> message, std::span<const std::byte> before);
  explicit Tampering(Tamper tamper) : tamper_(tamper) {}
  void send(int side, std::span<const std::byte> message) override { honest_->send(side, message); }
  void receive(int side, std::span<std::byte> message) override {
    const std::vector<std::byte> before(message.begin(), message.end());
    honest_->receive(side, message);
    if (side == 0) tamper_(message, before);
  }
  void abort() override { honest_->abort(); }
  [[nodiscard]] std::string describe() const override { return "tampered with"; }

 private:
  std::unique_ptr<Transport> honest_ = make_tcp_transport();
  Tamper tamper_;
};

std::optional<std::string> verdict_on(Tampering::Tamper tamper, std::int64_t bytes) {
  const int cpu = sys::affinity().first();
  PingPong game(std::make_unique<Tampering>(tamper), bytes, {cpu, cpu});
  game.run(3);
  return game.verify();
}

TEST_CASE("messages that change on their way are noticed") {
  const auto honest = [](std::span<std::byte>, std::span<const std::byte>) {};
  const auto flips = [](std::span<std::byte> message, std::span<const std::byte>) {
    message[message.size() / 2] ^= std::byte{1};
  };
  const auto stale = [](std::span<std::byte> message, std::span<const std::byte> before) {
    std::copy(before.begin(), before.end(), message.begin());
  };
  const auto half = [](std::span<std::byte> message, std::span<const std::byte> before) {
    std::copy(before.begin() + static_cast<std::ptrdiff_t>(message.size() / 2), before.end(),
              message.begin() + static_cast<std::ptrdiff_t>(message.size() / 2));
  };
  for (const std::int64_t bytes : {1, 64, 5000}) {
    INFO(bytes << " bytes");
    CHECK_FALSE(verdict_on(honest, bytes));
    CHECK(verdict_on(flips, bytes));
    CHECK(verdict_on(stale, bytes));
    CHECK(verdict_on(half, bytes));
  }
}

TEST_CASE("the binary: both transports, all sizes, percentiles, one clock") {
  const ProbeRun run = run_probe_binary("network.round_trip", {});
  INFO(run.child.out << run.child.err);
  REQUIRE(
      (run.child.exit_code == 0 || run.child.exit_code == 5));  // 5: one CPU, nothing to spin on
  REQUIRE(run.report);
  CHECK(run.metrics.size() == 10);
  for (const Metric& metric : run.metrics) {
    const std::string transport = std::get<std::string>(metric.params.at("transport"));
    INFO(transport << ": " << metric.reason);
    if (metric.status == Status::skipped) {
      CHECK(transport == "shared_memory");
      continue;
    }
    CHECK(metric.name == "network.round_trip.time");  // a round trip, never half of one
    CHECK(metric.checked == true);
    CHECK(metric.value.value_or(-1) > 0);
    CHECK(metric.summary.at("operation_min_s") > 0);
    CHECK(metric.summary.at("operation_p99_s") >= metric.summary.at("operation_median_s"));
    CHECK(metric.source.find("CPUs") != std::string::npos);
  }
}

TEST_CASE("the binary: sizes that were asked for, odd ones too") {
  const ProbeRun run = run_probe_binary("network.round_trip", {"--size", "3,100001"});
  INFO(run.child.out << run.child.err);
  REQUIRE(run.report);
  CHECK(run.metrics.size() == 4);
  for (const Metric& metric : run.metrics) {
    const std::int64_t bytes = std::get<std::int64_t>(metric.params.at("bytes"));
    CHECK((bytes == 3 || bytes == 100001));
  }
}

}  // namespace
}  // namespace plimsoll::probes
