// A generation counter wakes the team, a spinning barrier starts it, another counter ends it.

#include "probes/harness/team.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "core/system/affinity.hpp"
#include "core/system/clock.hpp"

namespace plimsoll::probes {
namespace {

// Written by its own thread only: no two of them on one cache line.
struct alignas(128) Member {
  Seconds start, end;
  std::exception_ptr error;
};

constexpr int kSpinsBeforeYield = 4096;

}  // namespace

struct Team::State {
  std::vector<int> cpus;
  std::vector<Member> members;
  const Work* work = nullptr;
  std::atomic<unsigned> generation{0};
  std::atomic<int> arrived{0};
  std::atomic<int> running{0};
  std::atomic<bool> stop{false};
  std::vector<std::jthread> threads;

  [[nodiscard]] int size() const { return static_cast<int>(cpus.size()); }

  void wait_for_all() {
    arrived.fetch_add(1);
    for (int spins = 0; arrived.load() < size(); ++spins) {
      if (spins > kSpinsBeforeYield) std::this_thread::yield();
    }
  }

  void leave() {
    if (running.fetch_sub(1) == 1) running.notify_one();
  }

  void serve(int index) {
    Member& self = members[static_cast<std::size_t>(index)];
    try {
      sys::pin(cpus[static_cast<std::size_t>(index)]);
    } catch (...) {
      self.error = std::current_exception();
    }
    leave();
    for (unsigned seen = 0;;) {
      generation.wait(seen);
      seen = generation.load();
      if (stop.load()) return;
      wait_for_all();
      self.start = sys::now();
      try {
        (*work)(index);
      } catch (...) {
        self.error = std::current_exception();
      }
      self.end = sys::now();
      leave();
    }
  }

  void wait_until_done() {
    for (int left = running.load(); left > 0; left = running.load()) running.wait(left);
    for (Member& member : members) {
      if (member.error) std::rethrow_exception(std::exchange(member.error, nullptr));
    }
  }

  void dismiss() {
    stop.store(true);
    generation.fetch_add(1);
    generation.notify_all();
    threads.clear();
  }
};

Team::Team(std::vector<int> cpus) : state_(std::make_unique<State>()) {
  expects(!cpus.empty(), "a team needs at least one CPU");
  state_->cpus = std::move(cpus);
  state_->members.resize(state_->cpus.size());
  state_->running.store(state_->size());
  for (int i = 0; i < state_->size(); ++i) {
    state_->threads.emplace_back([state = state_.get(), i] { state->serve(i); });
  }
  try {
    state_->wait_until_done();
  } catch (...) {
    state_->dismiss();
    throw;
  }
}

Team::~Team() { state_->dismiss(); }

int Team::size() const { return state_->size(); }

Seconds Team::run(const Work& work) {
  state_->work = &work;
  state_->arrived.store(0);
  state_->running.store(state_->size());
  state_->generation.fetch_add(1);
  state_->generation.notify_all();
  state_->wait_until_done();
  const auto first = std::ranges::min_element(state_->members, {}, &Member::start);
  const auto last = std::ranges::max_element(state_->members, {}, &Member::end);
  return last->end - first->start;
}

}  // namespace plimsoll::probes
