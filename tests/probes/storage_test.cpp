// storage.read: its scratch file and engines, and the real binary.

#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <thread>

#include "core/error.hpp"
#include "probes/storage/engine.hpp"
#include "probes/storage/reading.hpp"
#include "probes/storage/scratch_file.hpp"
#include "tests/probes/run_probe.hpp"

namespace plimsoll::probes {
namespace {

constexpr const char* kSmallOnly = "storage.read.*block_bytes:4096";

TEST_CASE("the pattern tells one place from another and notices a single bit") {
  std::vector<std::byte> block(4096);
  fill_pattern(block, 8192);
  CHECK(holds_pattern(block, 8192));
  CHECK_FALSE(holds_pattern(block, 0));
  CHECK(std::ranges::count(block, std::byte{0}) < 64);  // nothing like a hole
  block[4095] ^= std::byte{1};
  CHECK_FALSE(holds_pattern(block, 8192));
}

TEST_CASE("the scratch file has no name and the size that was asked for") {
  const Scratch scratch;
  const ScratchFile file(scratch.path(), Bytes(3 << 20));
  CHECK(file.size() == 3 << 20);
  CHECK(std::filesystem::is_empty(scratch.path()));
  CHECK(file.file_system().type != "unknown");
  CHECK((file.direct() >= 0) == file.direct_refused().empty());
}

TEST_CASE("more than there is room for: needed and free bytes, and nothing is written") {
  const Scratch scratch;
  try {
    const ScratchFile file(scratch.path(), Bytes(1e18));
    FAIL("an exabyte was accepted");
  } catch (const Error& error) {
    CHECK(error.problem().find("bytes") != std::string::npos);
    CHECK(error.problem().find("are needed and") != std::string::npos);
    CHECK(error.where().find(scratch.path()) != std::string::npos);
  }
}

TEST_CASE("a directory that cannot be used is named") {
  CHECK_THROWS_AS(ScratchFile("/nonexistent/folder", Bytes(1 << 20)), Error);
  CHECK_THROWS_AS(ScratchFile("/proc", Bytes(1 << 20)), Error);
}

std::vector<std::pair<std::string, std::unique_ptr<Engine>>> engines(int depth) {
  std::vector<std::pair<std::string, std::unique_ptr<Engine>>> all;
  all.emplace_back("threads", make_thread_engine());
  if (uring_refused().empty()) all.emplace_back("io_uring", make_uring_engine(depth));
  return all;
}

TEST_CASE("every engine reads what is there, at any depth, and times each read") {
  const Scratch scratch;
  const ScratchFile file(scratch.path(), Bytes(2 << 20));
  for (const int depth : {1, 7}) {
    for (const auto& [name, engine] : engines(depth)) {
      INFO(name << " at depth " << depth);
      Slots slots(depth, 4096);
      std::vector<std::int64_t> offsets;
      for (std::int64_t i = 0; i < 100; ++i) offsets.push_back(i * 37 % 512 * 4096);
      std::vector<double> times(offsets.size(), -1);
      const Seconds all = engine->read(file.cached(), offsets, slots, times);
      CHECK(all.value() > 0);
      CHECK(std::ranges::all_of(times, [&](double t) { return t >= 0 && t <= all.value(); }));
      int used = 0;  // a thread may be done with all before another one woke
      for (std::size_t slot = 0; slot < slots.offsets.size(); ++slot) {
        if (slots.offsets[slot] < 0) continue;
        ++used;
        CHECK(holds_pattern(slots.block(slot), slots.offsets[slot]));
      }
      CHECK(used >= 1);
    }
  }
}

TEST_CASE("every engine refuses a short read and a closed file") {
  const Scratch scratch;
  const ScratchFile file(scratch.path(), Bytes(1 << 20));
  for (const auto& [name, engine] : engines(4)) {
    INFO(name);
    Slots slots(4, 4096);
    std::vector<double> times(3);
    const std::vector<std::int64_t> beyond{0, (1 << 20) - 512, 4096};
    CHECK_THROWS_AS(engine->read(file.cached(), beyond, slots, times), Error);
    CHECK_THROWS_AS(engine->read(-1, std::vector<std::int64_t>{0, 0, 0}, slots, times), Error);
  }
}

// Reads everything, then reports blocks that it did not read, or spoils one byte of one.
class LyingEngine : public Engine {
 public:
  enum Lie { none, skips_half, spoils_a_byte };
  explicit LyingEngine(Lie lie) : lie_(lie) {}
  Seconds read(int fd, std::span<const std::int64_t> offsets, Slots& slots,
               std::span<double> times) override {
    const std::size_t really = lie_ == skips_half ? offsets.size() / 2 : offsets.size();
    const Seconds time = honest_->read(fd, offsets.first(really), slots, times.first(really));
    if (lie_ == skips_half) slots.offsets[0] = offsets.back();
    if (lie_ == spoils_a_byte) slots.block(0)[100] ^= std::byte{4};
    return time;
  }

 private:
  std::unique_ptr<Engine> honest_ = make_thread_engine();
  Lie lie_;
};

TEST_CASE("an engine that lies is noticed") {
  const Scratch scratch;
  const ScratchFile file(scratch.path(), Bytes(4 << 20));
  for (const auto lie : {LyingEngine::none, LyingEngine::skips_half, LyingEngine::spoils_a_byte}) {
    Reading reading({.direct = false}, ReadQuantity::bandwidth, file,
                    std::make_unique<LyingEngine>(lie));
    reading.run(4);
    CHECK(reading.verify().has_value() == (lie != LyingEngine::none));
  }
}

TEST_CASE("the binary: every case measured, verified, named; nothing left behind") {
  const Scratch scratch;
  const ProbeRun run = run_probe_binary("storage.read", {"--dir", scratch.path(), "--size", "8M"});
  INFO(run.child.out << run.child.err);
  REQUIRE(run.child.exit_code == 0);
  REQUIRE(run.report);
  CHECK(run.metrics.size() >= 4);
  for (const Metric& metric : run.metrics) {
    INFO(metric.name);
    CHECK(metric.status == Status::ok);
    CHECK(metric.checked == true);
    CHECK(metric.value.value_or(0) > 0);
    CHECK(metric.source.find(" on ") != std::string::npos);  // file system on device
    CHECK(metric.summary.at("file_bytes") == 8 << 20);
    CHECK(metric.summary.count("operation_p99_s") == 1);
    CHECK(metric.summary.count("cached_possible") ==
          (std::get<bool>(metric.params.at("direct")) ? 0 : 1));
  }
  CHECK(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("without a named directory the first real file system is measured, and told") {
  const Scratch scratch;
  const FileSystem real = file_system_of(scratch.path());
  const auto source_with = [](const std::string& temporary) {
    const ProbeRun run = run_probe_binary(
        "storage.read", {"--size", "4M", "--filter", "storage.read.latency/block_bytes:4096"},
        {"env", "TMPDIR=" + temporary});
    REQUIRE(run.report.has_value());
    return run.metrics.front().source;
  };
  if (!real.in_memory()) {
    const std::string source = source_with(scratch.path());
    CHECK(source.find(real.type + " on " + real.device) != std::string::npos);
    CHECK(source.find("; in " + scratch.path() + ", as no directory was named") !=
          std::string::npos);
  }
  for (const std::string& unusable : {std::string("/dev/shm"), std::string("/nonexistent")}) {
    if (unusable == "/dev/shm" && !file_system_of(unusable).in_memory()) continue;
    CHECK(source_with(unusable).find("; in " + unusable) == std::string::npos);
  }
}

TEST_CASE("the binary: an unusable directory is said once a metric, and ends 1") {
  const ProbeRun run = run_probe_binary("storage.read", {"--dir", "/nonexistent/folder"});
  CHECK(run.child.exit_code == 1);
  REQUIRE(run.report);
  CHECK(run.metrics.size() == 2);
  for (const Metric& metric : run.metrics) {
    CHECK(metric.status == Status::failed);
    CHECK_FALSE(metric.value);
    CHECK(metric.reason.find("/nonexistent/folder") != std::string::npos);
  }
}

// Starts the probe on a large file and sends it `signal` while it works.
int killed_by(int signal, const Scratch& scratch) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execl(probe_path("storage.read").c_str(), "storage.read", "--level", "full", "--size", "128M",
          "--filter", kSmallOnly, "--dir", scratch.path().c_str(), nullptr);
    _exit(127);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  kill(child, signal);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_CASE("the binary leaves no file however it is ended") {
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    const Scratch scratch;
    const int status = killed_by(signal, scratch);
    INFO("signal " << signal << ", status " << status);
    if (signal == SIGKILL) {
      CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    } else {
      CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 130));
    }
    CHECK(std::filesystem::is_empty(scratch.path()));
  }
}

}  // namespace
}  // namespace plimsoll::probes
