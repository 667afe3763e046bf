// Ctrl-C and SIGTERM in train: exit code 130, what was trained is in the report, nothing is left.

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "core/system/signals.hpp"
#include "tests/catch.hpp"
#include "tests/tools/command.hpp"

using namespace plimsoll;
using namespace plimsoll::test;

TEST_CASE("an interrupted training writes what it has, exits 130 and cleans up") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(signal);
    const tools::ScratchDirectory scratch;
    const std::string temporary = scratch.path() + "/tmp", out = scratch.path() + "/run.json";
    std::filesystem::create_directory(temporary);
    sys::clear_interrupt();
    std::thread finger([&] {
      // Once the job is there the trainer runs; a moment later it trains.
      for (int i = 0; i < 600 && std::filesystem::is_empty(temporary); ++i) ::usleep(50'000);
      ::usleep(3'000'000);
      sys::request_interrupt(signal);
    });
    const auto result = plimsoll::test::plimsoll(
        {"train", "--steps", "100000000", "--data-dir", "synthetic:512", "--out", out},
        Seconds(120), {"env", "TMPDIR=" + temporary});
    finger.join();
    sys::clear_interrupt();
    CHECK(result.exit_code == 130);
    CHECK(invalid({out}) == "");
    CHECK(std::get<Run>(reports::read_report(out).subject).partial);
    CHECK(std::filesystem::is_empty(temporary));
  }
}
