// storage.read with an operating system that refuses: errors injected by strace.

#include <algorithm>
#include <sstream>

#include "tests/probes/run_probe.hpp"

namespace plimsoll::probes {
namespace {

constexpr const char* kFilter = "storage.read.bandwidth/block_bytes:4096";

bool can_inject() {
  static const bool works =
      std::system("strace -o /dev/null -e inject=getppid:error=EPERM true >/dev/null 2>&1") == 0;
  if (!works) WARN("SKIPPED: strace is missing or may not trace here");
  return works;
}

ProbeRun run_injected(const std::string& fault, const Scratch& scratch,
                      std::vector<std::string> more = {}) {
  std::vector<std::string> before{"strace", "-f", "-o", "/dev/null", "-e", "inject=" + fault};
  before.insert(before.end(), more.begin(), more.end());
  return run_probe_binary("storage.read",
                          {"--dir", scratch.path(), "--size", "4M", "--filter", kFilter}, before);
}

const Finding* finding(const ProbeRun& run, const std::string& id) {
  const auto at = std::ranges::find(run.report->findings, id, &Finding::id);
  return at == run.report->findings.end() ? nullptr : &*at;
}

TEST_CASE("io_uring blocked: threads instead, and the reason is never Success") {
  if (!can_inject()) return;
  for (const auto& [fault, words] :
       {std::pair{"EPERM", "Operation not permitted"}, {"ENOSYS", "Function not implemented"}}) {
    const Scratch scratch;
    const ProbeRun run = run_injected("io_uring_setup:error=" + std::string(fault), scratch);
    INFO(run.child.out << run.child.err);
    CHECK(run.child.exit_code == 0);
    REQUIRE(run.report);
    REQUIRE_FALSE(run.metrics.empty());
    for (const Metric& metric : run.metrics) {
      CHECK(metric.status == Status::ok);
      CHECK(std::get<std::string>(metric.params.at("engine")) == "threads");
    }
    const Finding* said = finding(run, "storage.no_io_uring");
    REQUIRE(said != nullptr);
    CHECK(said->message.find(words) != std::string::npos);
    CHECK(said->message.find("Success") == std::string::npos);
  }
}

void check_buffered_only(const ProbeRun& run, const Scratch& scratch) {
  INFO(run.child.out << run.child.err);
  CHECK(run.child.exit_code == 0);
  REQUIRE(run.report);
  REQUIRE_FALSE(run.metrics.empty());
  for (const Metric& metric : run.metrics) CHECK_FALSE(std::get<bool>(metric.params.at("direct")));
  const Finding* said = finding(run, "storage.no_direct_reads");
  REQUIRE(said != nullptr);
  CHECK(said->severity == Severity::warning);
  CHECK(said->message.find(scratch.path()) != std::string::npos);
  CHECK(said->message.find("Invalid argument") != std::string::npos);
}

// How often the probe makes a system call before it makes one whose line holds `words`.
int calls_before(const std::string& call, const std::string& words, const Scratch& scratch) {
  const std::string log = scratch.path("strace.log");
  run_probe_binary("storage.read", {"--dir", scratch.path(), "--size", "4M", "--filter", kFilter},
                   {"strace", "-f", "-o", log, "-e", "trace=" + call});
  std::istringstream lines(reports::read_text(log));
  std::filesystem::remove(log);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    if (line.find(words) != std::string::npos) return count;
    if (line.find(call) == std::string::npos) --count;
  }
  FAIL("no " << call << " with " << words);
  return 0;
}

TEST_CASE("direct reads refused at open: buffered, with a warning that names the folder") {
  if (!can_inject()) return;
  const Scratch scratch;
  // The scratch file has no name: it is reopened through its descriptor, a small number.
  std::vector<std::string> paths;
  for (int fd = 3; fd < 10; ++fd) {
    paths.insert(paths.end(), {"-P", "/proc/self/fd/" + std::to_string(fd)});
  }
  check_buffered_only(run_injected("openat:error=EINVAL", scratch, paths), scratch);
}

TEST_CASE("direct reads refused at the first transfer: the same") {
  if (!can_inject()) return;
  const Scratch scratch;
  const int before = calls_before("pread64", ", 4096, 0)", scratch);
  const ProbeRun run =
      run_injected("pread64:error=EINVAL:when=" + std::to_string(before + 1), scratch);
  INFO(run.child.out << run.child.err);
  check_buffered_only(run, scratch);
}

TEST_CASE("every read refused: failed, and no number") {
  if (!can_inject()) return;
  const Scratch scratch;
  const int before = calls_before("pread64", ", 4096, 0)", scratch);
  const ProbeRun run =
      run_injected("pread64:error=EIO:when=" + std::to_string(before + 1) + "+", scratch);
  INFO(run.child.out << run.child.err);
  CHECK(run.child.exit_code != 0);
  REQUIRE(run.report);
  for (const Metric& metric : run.metrics) {
    CHECK(metric.status == Status::failed);
    CHECK_FALSE(metric.value);
    CHECK(metric.reason.find("Input/output error") != std::string::npos);
  }
}

TEST_CASE("the disk fills up while the file is written: said so, with how far it came") {
  if (!can_inject()) return;
  const Scratch scratch;
  const ProbeRun run = run_injected("pwrite64:error=ENOSPC:when=3+", scratch);
  INFO(run.child.out << run.child.err);
  CHECK(run.child.exit_code != 0);
  REQUIRE(run.report);
  REQUIRE_FALSE(run.metrics.empty());
  for (const Metric& metric : run.metrics) {
    CHECK(metric.status == Status::failed);
    CHECK(metric.reason.find("no space left after") != std::string::npos);
  }
  CHECK(std::filesystem::is_empty(scratch.path()));
}

}  // namespace
}  // namespace plimsoll::probes
