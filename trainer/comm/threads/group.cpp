// Waiting without starving anybody, and failing together.

#include "trainer/comm/threads/group.hpp"

#include <chrono>
#include <cstdio>
#include <thread>

#include "core/system/clock.hpp"

namespace plimsoll::trainer {
namespace {

constexpr int kSpins = 4000;        // about 50 us: what an all-reduce of 64 KiB takes
constexpr Seconds kYielding(2e-3);  // waking a sleeper costs tens of microseconds
constexpr int kYieldsWhenCrowded = 20;
constexpr auto kLongestSleep = std::chrono::milliseconds(50);  // then look at the deadline

void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

std::string list_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace

ThreadsGroup::ThreadsGroup(int ranks, Seconds deadline, bool crowded)
    : ranks_(static_cast<std::size_t>(ranks)),
      mailboxes_(2 * static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks)),
      deadline_(deadline),
      crowded_(crowded) {
  expects(ranks >= 1, "a group has at least one rank");
}

Mailbox& ThreadsGroup::mailbox(Channel channel, int from, int to) {
  expects(from >= 0 && from < size() && to >= 0 && to < size(), "a message stays in its group");
  const int plane = channel == Channel::messages ? 0 : 1;
  return mailboxes_[static_cast<std::size_t>((plane * size() + from) * size() + to)];
}

// A sleeper counts itself before it looks for the last time; whoever raises an atomic looks at the
// count afterwards. All four accesses are sequentially consistent, so one of the two sees the
// other.
void ThreadsGroup::ring() {
  if (sleepers_.load() == 0) return;
  {
    const std::lock_guard lock(mutex_);
    ++rings_;
  }
  bell_.notify_all();
}

bool ThreadsGroup::sleep_until_rung(const std::function<bool()>& ready) {
  std::unique_lock lock(mutex_);
  const std::int64_t before = rings_;
  ++sleepers_;
  lock.unlock();
  struct Awake {
    std::atomic<int>& sleepers;
    ~Awake() { --sleepers; }
  } const awake{sleepers_};
  throw_if_failed();
  if (ready()) return true;
  lock.lock();
  bell_.wait_for(lock, kLongestSleep, [&] { return rings_ != before; });
  return false;
}

void ThreadsGroup::wait(int rank, const std::function<bool()>& ready,
                        const std::function<Missing()>& missing) {
  const auto done = [&] {
    throw_if_failed();
    return ready();
  };
  for (int spin = 0; spin < (crowded_ ? 1 : kSpins); ++spin) {
    if (done()) return;
    pause_core();
  }
  const Seconds start = sys::now();
  for (int yields = 0; crowded_ ? yields < kYieldsWhenCrowded : sys::now() - start < kYielding;
       ++yields) {
    if (done()) return;
    std::this_thread::yield();
  }
  while (!sleep_until_rung(ready)) {
    if (anybody_left_.load()) look_for_leavers(rank, ready, missing);
    if (sys::now() - start > deadline_ && !done()) {
      std::array<char, 32> after{};
      std::snprintf(after.data(), after.size(), "after %.3g s", deadline_.value());
      fail_waiting(rank, missing(), after.data());
    }
  }
}

// A rank leaves after all that it does: what is not ready once it was seen to have left never will
// be.
void ThreadsGroup::look_for_leavers(int rank, const std::function<bool()>& ready,
                                    const std::function<Missing()>& missing) {
  const Missing now = missing();
  for (const int r : now.ranks) {
    if (of(r).left.load() && !ready()) fail_waiting(rank, now, "and never will: it has ended");
  }
}

void ThreadsGroup::fail_waiting(int rank, const Missing& missing, const std::string& why) {
  fail(Error(list_of(missing.ranks) + " did not arrive in " + missing.what + " " + why,
             "rank " + std::to_string(rank) + " of " + std::to_string(size()),
             "look for the first message of the rank that is missing"));
  throw_if_failed();
  throw std::logic_error("unreachable: the group has failed");
}

void ThreadsGroup::fail(const Error& error) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = error;
  }
  failed_.store(true);
  ring();
}

void ThreadsGroup::throw_if_failed() const {
  if (!failed_.load()) return;
  const std::lock_guard lock(failure_mutex_);
  throw Error(*failure_);
}

void ThreadsGroup::leave(int rank) {
  of(rank).left.store(true);
  anybody_left_.store(true);
  ring();
}

void ThreadsGroup::abandon(int rank) noexcept {
  closing_.store(true);
  for (int r = 0; r < size(); ++r) {
    while (r != rank && of(r).busy.load()) std::this_thread::yield();
  }
}

}  // namespace plimsoll::trainer
