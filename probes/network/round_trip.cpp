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

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "probes/network/ping_pong.hpp"
#include "probes/probe.hpp"

namespace plimsoll::probes {
namespace {

constexpr std::int64_t kSizes[] = {1, 64, 4096, 65536, 1 << 20};
constexpr std::int64_t kLargeMessage = 64 << 20;  // from here on each case has memory for itself

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
        return std::make_unique<PingPong>(std::move(transport), bytes,
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
