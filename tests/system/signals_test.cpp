// Interrupts as a flag.

#include "core/system/signals.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/catch.hpp"

namespace plimsoll::sys {
namespace {

// Runs `body` in a child of this process and returns the wait status.
template <class Body>
int status_of(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("the first interrupt sets the flag, the second ends the program with 130") {
  const int once = status_of([] {
    handle_interrupts();
    raise(SIGTERM);
    _exit(interrupted() && interrupt_signal() == SIGTERM ? 7 : 8);
  });
  CHECK(WEXITSTATUS(once) == 7);
  const int twice = status_of([] {
    handle_interrupts();
    raise(SIGINT);
    raise(SIGINT);
  });
  CHECK(WIFEXITED(twice));
  CHECK(WEXITSTATUS(twice) == 130);
}

TEST_CASE("a signal that was ignored at the start stays ignored") {
  const int status = status_of([] {
    ::signal(SIGHUP, SIG_IGN);
    handle_interrupts();
    raise(SIGHUP);
    raise(SIGHUP);
    _exit(interrupted() ? 8 : 7);
  });
  CHECK(WEXITSTATUS(status) == 7);
}

}  // namespace plimsoll::sys
