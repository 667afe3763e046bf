// A signal handler can reach nothing but a lock-free flag of static lifetime: the one of this
// library lives here, inside a function.

#include "probes/harness/interrupt.hpp"

#include <csignal>

#include <atomic>

namespace plimsoll::probes {
namespace {

std::atomic<bool>& flag() {
  static_assert(std::atomic<bool>::is_always_lock_free);
  static std::atomic<bool> raised{false};
  return raised;
}

extern "C" void remember(int) { flag().store(true); }

}  // namespace

void listen_for_interrupts() {
  flag().store(false);
  struct sigaction action = {};
  action.sa_handler = remember;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return flag().load(); }

}  // namespace plimsoll::probes
