// What the ranks of one process share: who posted what, messages on their way, and who failed.
//
// Every field that is not atomic is written by one rank before it raises an atomic of its own, and
// read by others after they saw that. Waiting spins for microseconds, then gives the core away,
// then sleeps until somebody rings: a rank never starves another one that shares its core.

#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/units.hpp"
#include "core/workload.hpp"

namespace plimsoll::trainer {

inline constexpr std::int64_t kMostOutstanding = 64;  // sums of a rank that are not finished

// What a rank brought to one sum; entry (sequence mod kMostOutstanding) of that rank.
struct alignas(64) Posted {
  std::atomic<std::int64_t> count{0};  // sequence + 1 once the fields below hold that sum
  float* data = nullptr;
  std::int64_t elements = 0;
  DType dtype = DType::f32;
  alignas(64) std::atomic<std::int64_t> arrived{0};  // sequence + 1 once its part is done
};

// One message at a time from one rank to another: the receiver reads the sender's memory.
struct alignas(64) Mailbox {
  std::atomic<std::int64_t> sent{0};
  const std::byte* data = nullptr;
  std::int64_t elements = 0;
  DType dtype = DType::f32;
  alignas(64) std::atomic<std::int64_t> taken{0};
};

struct alignas(64) RankState {
  std::atomic<std::int64_t> barriers{0};
  std::atomic<bool> left{false};  // its function returned: it will never arrive anywhere again
  std::atomic<bool> busy{false};  // works on memory of other ranks
  std::array<Posted, kMostOutstanding> posted;
};

// Who is waited for and in what: asked only when something went wrong.
struct Missing {
  std::string what;
  std::vector<int> ranks;
};

class ThreadsGroup {
 public:
  // `crowded`: more ranks than cores, where spinning only keeps others from arriving.
  ThreadsGroup(int ranks, Seconds deadline, bool crowded);

  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] RankState& of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Posted& posted(std::int64_t sequence, int rank) {
    return of(rank).posted[static_cast<std::size_t>(sequence % kMostOutstanding)];
  }
  enum class Channel { messages, collectives };
  [[nodiscard]] Mailbox& mailbox(Channel channel, int from, int to);

  // Wakes sleepers; call it after raising an atomic that somebody may wait for.
  void ring();

  // Returns when ready() does, which may work and throw. Past the deadline, or when a rank that is
  // missing has left, the group fails with an Error that says who waited for whom.
  void wait(int rank, const std::function<bool()>& ready, const std::function<Missing()>& missing);

  // The first failure wins: every rank that waits or polls from now on throws it too.
  void fail(const Error& error);
  void throw_if_failed() const;
  void leave(int rank);

  // Runs `work` unless memory is being taken away; then it returns false at once.
  template <class Work>
  bool with_memory_of_others(int rank, Work work) {
    struct Busy {
      std::atomic<bool>& flag;
      explicit Busy(std::atomic<bool>& f) : flag(f) { flag.store(true); }
      ~Busy() { flag.store(false); }
    } const busy(of(rank).busy);
    return !closing_.load() && work();
  }
  // After this no other rank works on anybody's memory again: a rank that fails calls it before it
  // frees what it posted.
  void abandon(int rank) noexcept;

 private:
  [[nodiscard]] bool sleep_until_rung(const std::function<bool()>& ready);
  void look_for_leavers(int rank, const std::function<bool()>& ready,
                        const std::function<Missing()>& missing);
  [[noreturn]] void fail_waiting(int rank, const Missing& missing, const std::string& why);

  std::vector<RankState> ranks_;
  std::vector<Mailbox> mailboxes_;
  Seconds deadline_;
  bool crowded_;

  std::atomic<int> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable bell_;
  std::int64_t rings_ = 0;  // guarded by mutex_

  std::atomic<bool> anybody_left_{false};
  std::atomic<bool> closing_{false};
  std::atomic<bool> failed_{false};
  mutable std::mutex failure_mutex_;
  std::optional<Error> failure_;  // guarded by failure_mutex_
};

}  // namespace plimsoll::trainer
