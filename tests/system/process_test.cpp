// Child programs: time-out, interrupt, and no survivor.

#include "core/system/process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "core/error.hpp"
#include "core/system/clock.hpp"
#include "core/system/files.hpp"
#include "core/system/signals.hpp"
#include "tests/catch.hpp"
#include "tests/system/tree.hpp"

namespace plimsoll::sys {
namespace {

ChildOptions shell(const std::string& script) {
  ChildOptions options;
  options.argv = {"sh", "-c", script};
  options.capture_out = options.capture_err = true;
  return options;
}

bool exists(pid_t pid) {
  // A zombie that waits for its new parent still answers signals, but it is not running.
  const auto stat = read_file("", "/proc/" + std::to_string(pid) + "/stat");
  return stat && stat->find(") Z") == std::string::npos;
}

bool gone_within(pid_t pid, double seconds) {
  const Seconds end = now() + Seconds(seconds);
  while (exists(pid)) {
    if (now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace

TEST_CASE("output, error output and exit code come back") {
  const ChildResult result = run_child(shell("echo out; echo err >&2; exit 3"));
  CHECK(result.exit_code == 3);
  CHECK(result.out == "out\n");
  CHECK(result.err == "err\n");
  CHECK_FALSE(result.timed_out);
  CHECK(result.duration > Seconds(0));
}

TEST_CASE("arguments reach the child as they are, without a shell; the environment grows") {
  ChildOptions options;
  options.argv = {"printf", "%s|", "a b", "$HOME", "*", ""};
  options.capture_out = true;
  CHECK(run_child(options).out == "a b|$HOME|*||");
  options = shell("printf %s \"$PLIMSOLL_TEST_WORD\"; pwd");
  options.environment["PLIMSOLL_TEST_WORD"] = "with = sign";
  options.directory = "/";
  CHECK(run_child(options).out == "with = sign/\n");
}

TEST_CASE("more output than a pipe holds does not block the child") {
  const ChildResult result = run_child(shell("head -c 3000000 /dev/zero; echo done >&2"));
  CHECK(result.out.size() == 3000000);
  CHECK(result.err == "done\n");
}

TEST_CASE("lines of stderr arrive whole, while the child runs and the last one without its end") {
  std::vector<std::string> lines;
  ChildOptions options = shell("printf 'one\\ntw' >&2; sleep 0.1; printf 'o\\nthree' >&2");
  options.on_err_line = [&](std::string_view line) { lines.emplace_back(line); };
  (void)run_child(options);
  CHECK(lines == std::vector<std::string>{"one", "two", "three"});
}

TEST_CASE("a program that is not there, or cannot run, is an error with its name") {
  for (const char* program : {"no-such-program-here", "/no/such/path", "/etc/passwd"}) {
    ChildOptions options;
    options.argv = {program};
    try {
      (void)run_child(options);
      FAIL("started " << program);
    } catch (const Error& error) {
      CHECK(error.problem().find(program) != std::string::npos);
    }
  }
}

TEST_CASE("a killed child says its signal") {
  const ChildResult result = run_child(shell("kill -KILL $$"));
  CHECK(result.signal == SIGKILL);
  CHECK(result.exit_code == 137);
}

TEST_CASE("a time-out ends the child and its own children, even when they ignore SIGTERM") {
  ChildOptions options = shell("trap '' TERM; sleep 60 & echo $!; wait; sleep 60");
  options.timeout = Seconds(0.2);
  options.grace = Seconds(0.3);
  const Seconds start = now();
  const ChildResult result = run_child(options);
  CHECK(result.timed_out);
  CHECK(result.exit_code == 124);
  CHECK(now() - start < Seconds(20));
  CHECK(gone_within(std::stoi(result.out), 5));
}

TEST_CASE("what the child leaves behind in its group ends with it") {
  const ChildResult result = run_child(shell("sleep 60 >/dev/null 2>&1 & echo $!"));
  CHECK(result.exit_code == 0);
  CHECK(gone_within(std::stoi(result.out), 5));
}

TEST_CASE("an interrupt is passed on, and the child may end in its own way") {
  ChildOptions options = shell("trap 'echo partial; exit 5' INT; while :; do sleep 0.05; done");
  std::thread soon([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    request_interrupt(SIGINT);
  });
  const ChildResult result = run_child(options);
  soon.join();
  clear_interrupt();
  CHECK(result.interrupted);
  CHECK(result.exit_code == 5);
  CHECK(result.out == "partial\n");
}

TEST_CASE("a child dies with a parent that is killed") {
  const testing::Tree tree;
  const std::string note = tree.root() + "/pid";
  const pid_t parent = fork();
  if (parent == 0) {
    ChildOptions options;
    options.argv = {"sh", "-c",
                    "echo $$ > " + note + ".new; mv " + note + ".new " + note + "; exec sleep 60"};
    (void)run_child(options);
    _exit(0);
  }
  const Seconds end = now() + Seconds(20);
  while (!read_file("", note) && now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  REQUIRE(read_file("", note));
  const pid_t child = std::stoi(*read_file("", note));
  CHECK(exists(child));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  CHECK(gone_within(child, 5));
}

TEST_CASE("the own directory holds this test") {
  CHECK(read_file(own_directory(), "/system_test").has_value());
}

}  // namespace plimsoll::sys
