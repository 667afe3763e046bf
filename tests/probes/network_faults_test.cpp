// network.round_trip without IPv6, without IPv4, and without any loopback.

#include "tests/probes/run_probe.hpp"

namespace plimsoll::probes {
namespace {

bool can_unshare() {
  static const bool works = std::system("unshare -Urn ip link set lo up >/dev/null 2>&1") == 0;
  if (!works) WARN("SKIPPED: private network namespaces (or ip) are not available here");
  return works;
}

ProbeRun run_in_network(const std::string& setup) {
  return run_probe_binary("network.round_trip", {"--filter", "transport:tcp", "--size", "64"},
                          {"unshare", "-Urn", "sh", "-c", setup + " && exec \"$@\"", "sh"});
}

const Metric& only(const ProbeRun& run) {
  INFO(run.child.out << run.child.err);
  REQUIRE(run.report);
  REQUIRE(run.metrics.size() == 1);
  return run.metrics.front();
}

TEST_CASE("no IPv6: IPv4 is used") {
  if (!can_unshare()) return;
  const ProbeRun run = run_in_network(
      "{ echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 || true; } 2>/dev/null; ip link set lo "
      "up");
  CHECK(run.child.exit_code == 0);
  CHECK(only(run).source.find("127.0.0.1") != std::string::npos);
}

TEST_CASE("only IPv6: ::1 is used") {
  if (!can_unshare()) return;
  const ProbeRun run = run_in_network("ip link set lo up && ip addr del 127.0.0.1/8 dev lo");
  if (run.report && run.metrics.size() == 1 &&
      run.metrics[0].reason.find("::1: ") != std::string::npos) {
    WARN("SKIPPED: this machine has no IPv6 either");
    return;
  }
  CHECK(run.child.exit_code == 0);
  CHECK(only(run).source.find("::1") != std::string::npos);
}

TEST_CASE("no loopback at all: failed, both addresses and the fix are named") {
  if (!can_unshare()) return;
  const ProbeRun run = run_in_network("true");
  CHECK(run.child.exit_code == 1);
  const Metric& metric = only(run);
  CHECK(metric.status == Status::failed);
  CHECK_FALSE(metric.value);
  for (const char* words : {"127.0.0.1", "::1", "ip link set lo up"}) {
    CHECK(metric.reason.find(words) != std::string::npos);
  }
}

}  // namespace
}  // namespace plimsoll::probes
