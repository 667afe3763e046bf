// storage.read on file systems made for it in a private mount namespace.

#include <algorithm>

#include "tests/probes/run_probe.hpp"

namespace plimsoll::probes {
namespace {

bool can_mount() {
  static const bool works = std::system(
                                "unshare -Urm mount -t tmpfs -o size=8m none /mnt "
                                ">/dev/null 2>&1") == 0;
  if (!works) WARN("SKIPPED: private mount namespaces are not allowed here");
  return works;
}

// Runs the probe on a tmpfs of `size` over its own scratch folder.
ProbeRun run_on_tmpfs(const std::string& size, const Scratch& scratch) {
  return run_probe_binary(
      "storage.read", {"--dir", scratch.path()},
      {"unshare", "-Urm", "sh", "-c",
       "mount -t tmpfs -o size=" + size + " none " + scratch.path() + " && exec \"$@\"", "sh"});
}

TEST_CASE("a full disk: failed before anything is written, with needed and free bytes") {
  if (!can_mount()) return;
  const Scratch scratch;
  const ProbeRun run = run_on_tmpfs("8m", scratch);
  INFO(run.child.out << run.child.err);
  CHECK(run.child.exit_code == 1);
  REQUIRE(run.report);
  for (const Metric& metric : run.metrics) {
    CHECK(metric.status == Status::failed);
    CHECK(metric.reason.find("no space: 83886080 bytes") != std::string::npos);
    CHECK(metric.reason.find("8388608 bytes (8 MiB) are free") != std::string::npos);
    CHECK(metric.reason.find("tmpfs") != std::string::npos);
  }
}

TEST_CASE("a file system in memory is named as such and never taken for a device") {
  if (!can_mount()) return;
  const Scratch scratch;
  const ProbeRun run = run_on_tmpfs("128m", scratch);
  INFO(run.child.out << run.child.err);
  CHECK(run.child.exit_code == 0);
  REQUIRE(run.report);
  for (const Metric& metric : run.metrics) {
    CHECK_FALSE(std::get<bool>(metric.params.at("direct")));
    CHECK(metric.source.find("tmpfs") != std::string::npos);
  }
  CHECK(std::ranges::count(run.report->findings, "storage.no_direct_reads", &Finding::id) == 1);
}

}  // namespace
}  // namespace plimsoll::probes
