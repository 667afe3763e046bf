// The engine with a thread of its own.

#include <omp.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/system/affinity.hpp"
#include "trainer/backend/imperative/execute.hpp"

namespace plimsoll::trainer::imperative {
namespace {

// Where each member of the calling thread's team may run.
std::vector<sys::CpuSet> team_places(int threads) {
  std::vector<sys::CpuSet> places(static_cast<std::size_t>(threads));
  places[0] = sys::affinity();
  if (threads == 1) return places;
#pragma omp parallel num_threads(threads)
  {
    try {
      places[static_cast<std::size_t>(omp_get_thread_num())] = sys::affinity();
    } catch (...) {  // a member that cannot tell is left where it is born
    }
  }
  return places;
}

void take_places(const std::vector<sys::CpuSet>& places) {
  const int threads = static_cast<int>(places.size());
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  if (threads == 1) return;  // born where the caller is
#pragma omp parallel num_threads(threads)
  {
    try {
      sys::pin(places[static_cast<std::size_t>(omp_get_thread_num())]);
    } catch (...) {  // stays where it is: slower, never wrong
    }
  }
}

// A sleeping thread is woken for so many calls, or when somebody asks for one: on a core that both
// threads share, each waking is a change of threads.
constexpr std::int64_t kWorthWaking = 8;

class Queue final : public Engine {
 public:
  Queue(const Backend& backend, int threads)
      : backend_(backend), places_(team_places(threads)), worker_([this] { work(); }) {}
  ~Queue() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    queued_.notify_one();
    worker_.join();
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Ticket submit(Call&& call) override {
    bool sleeps = false;
    Ticket ticket = 0;
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(std::move(call));
      ticket = ++submitted_;
      sleeps = asleep_ && std::ssize(calls_) >= kWorthWaking;
    }
    if (sleeps) queued_.notify_one();
    return ticket;
  }

  void wait(Ticket ticket) override {
    std::unique_lock lock(mutex_);
    wanted_ = std::max(wanted_, ticket);
    if (done_ < ticket) wake();
    finished_.wait(lock, [&] { return done_ >= ticket; });
    if (!error_ || ticket < failed_) return;
    wanted_ = std::max(wanted_, submitted_);  // what is queued behind it is never run
    finished_.wait(lock, [&] { return done_ >= submitted_; });
    const std::exception_ptr error = std::exchange(error_, nullptr);
    lock.unlock();
    std::rethrow_exception(error);
  }

  [[nodiscard]] bool done(Ticket ticket) const override {
    const std::lock_guard lock(mutex_);
    if (done_ < ticket) wake();
    return done_ >= ticket;
  }

  void then(Ticket ticket, std::function<void()> callback) override {
    {
      const std::lock_guard lock(mutex_);
      callbacks_.emplace(ticket, std::move(callback));
    }
    queued_.notify_one();
  }

  [[nodiscard]] std::string name() const override { return "queue"; }
  [[nodiscard]] Flop flop() const override {
    const std::lock_guard lock(mutex_);
    return flop_;
  }

 private:
  void wake() const {
    if (asleep_ && !calls_.empty()) queued_.notify_one();
  }
  [[nodiscard]] bool callback_is_due() const {
    return !callbacks_.empty() && callbacks_.begin()->first <= done_;
  }

  void work() {
    take_places(places_);
    std::unique_lock lock(mutex_);
    while (true) {
      while (callback_is_due()) run_callback(lock);
      asleep_ = true;
      queued_.wait(lock, [&] { return stop_ || !calls_.empty() || callback_is_due(); });
      asleep_ = false;
      if (stop_) return;
      if (calls_.empty()) continue;
      Call call = std::move(calls_.front());
      calls_.pop_front();
      if (!error_) run(call, lock);
      ++done_;
      if (wanted_ >= done_) finished_.notify_all();
    }
  }

  // Without the lock: others queue meanwhile.
  void run(Call& call, std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    std::exception_ptr error;
    Flop counted;
    try {
      execute(backend_, call, counted);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    flop_ += counted;
    if (error) fail(error);
  }

  void run_callback(std::unique_lock<std::mutex>& lock) {
    const auto callback = std::move(callbacks_.begin()->second);
    callbacks_.erase(callbacks_.begin());
    lock.unlock();
    std::exception_ptr error;
    try {
      callback();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && !error_) {
      error_ = error;
      failed_ = done_;
    }
  }

  void fail(const std::exception_ptr& error) {
    error_ = error;
    failed_ = done_ + 1;
  }

  const Backend& backend_;
  const std::vector<sys::CpuSet> places_;
  mutable std::mutex mutex_;
  mutable std::condition_variable queued_;
  std::condition_variable finished_;
  std::deque<Call> calls_;
  std::multimap<Ticket, std::function<void()>> callbacks_;
  Ticket submitted_ = 0, done_ = 0, wanted_ = 0, failed_ = 0;
  std::exception_ptr error_;
  Flop flop_;
  bool asleep_ = false, stop_ = false;
  std::thread worker_;  // last: starts when all else is there
};

}  // namespace

std::unique_ptr<Engine> make_queue_engine(const Backend& backend, int threads) {
  return std::make_unique<Queue>(backend, threads);
}

}  // namespace plimsoll::trainer::imperative
