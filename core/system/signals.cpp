// The interrupt flag. A signal handler can reach nothing but a global: this file holds the only
// mutable ones of the project, both lock-free atomics.

#include "core/system/signals.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <initializer_list>

#include "core/error.hpp"

namespace plimsoll::sys {
namespace {

std::atomic<int> pending_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  int none = 0;
  if (!pending_signal.compare_exchange_strong(none, signal))
    _exit(static_cast<int>(ExitCode::interrupted));
}

}  // namespace

void handle_interrupts() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old {};
    sigaction(signal, nullptr, &old);
    if (old.sa_handler == SIG_IGN) continue;  // nohup, or a shell's background job
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    action.sa_flags = 0;  // blocking calls return EINTR, so that the flag is seen soon
    sigaction(signal, &action, nullptr);
  }
}

bool interrupted() { return pending_signal.load() != 0; }
int interrupt_signal() { return pending_signal.load(); }
void request_interrupt(int signal) { pending_signal.store(signal); }
void clear_interrupt() { pending_signal.store(0); }

}  // namespace plimsoll::sys
