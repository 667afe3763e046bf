// Errors: the text a user reads, the exit code, and a broken promise that names its place.

#include "core/error.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>

#include "tests/catch.hpp"

namespace plimsoll {
namespace {

struct Ended {
  int status = 0;
  std::string error_text;
};

// Runs `body` in a child process and collects its standard error.
template <class Body>
Ended in_child(Body body) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // the test framework would report it as its own failure
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    body();
    _exit(0);
  }
  close(ends[1]);
  Ended ended;
  std::array<char, 256> chunk{};
  for (ssize_t got; (got = read(ends[0], chunk.data(), chunk.size())) > 0;) {
    ended.error_text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  waitpid(child, &ended.status, 0);
  return ended;
}

TEST_CASE("an error says what, where and how to fix it") {
  const Error error("no such workload \"mpl\"", "--workload", "one of: mlp, lenet");
  CHECK(error.problem() == "no such workload \"mpl\"");
  CHECK(error.where() == "--workload");
  CHECK(error.fix() == "one of: mlp, lenet");
  CHECK(error.exit_code() == ExitCode::could_not_run);
  CHECK(std::string(error.what()) ==
        "no such workload \"mpl\"\n  where: --workload\n  fix:   one of: mlp, lenet");
}

TEST_CASE("parts without text leave no empty lines") {
  CHECK(std::string(Error("broken", "", "").what()) == "broken");
}

TEST_CASE("wrong usage has its own exit code") {
  CHECK(usage_error("--batch 0", "--batch", "at least 1").exit_code() == ExitCode::wrong_usage);
  CHECK(static_cast<int>(ExitCode::not_applicable) == 77);
  CHECK(static_cast<int>(ExitCode::interrupted) == 130);
}

TEST_CASE("a kept promise is silent") {
  const Ended ended = in_child([] { expects(true, "never seen"); });
  CHECK(WIFEXITED(ended.status));
  CHECK(ended.error_text.empty());
}

TEST_CASE("a broken promise aborts and names its place") {
  const Ended ended = in_child([] { expects(false, "ranks start at zero"); });
  REQUIRE(WIFSIGNALED(ended.status));
  CHECK(WTERMSIG(ended.status) == SIGABRT);
  CHECK(ended.error_text.find("ranks start at zero") != std::string::npos);
  CHECK(ended.error_text.find("error_test.cpp") != std::string::npos);
}

}  // namespace
}  // namespace plimsoll
