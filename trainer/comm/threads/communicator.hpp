// One rank's view of a ThreadsGroup.

#pragma once

#include <array>
#include <vector>

#include "trainer/comm/algorithm/all_reduce.hpp"
#include "trainer/comm/communicator.hpp"
#include "trainer/comm/threads/group.hpp"

namespace plimsoll::trainer {

class ThreadsCommunicator final : public Communicator, public Transport {
 public:
  ThreadsCommunicator(ThreadsGroup& group, int rank, const AllReduceAlgorithm& algorithm)
      : group_(group), rank_(rank), algorithm_(algorithm) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return group_.size(); }
  void send(int to, Payload data) override;
  void receive(int from, Payload data) override;
  void barrier() override;
  [[nodiscard]] Work all_reduce(Payload data) override;
  bool poll() override;
  void wait(Work work) override;
  void abandon() noexcept override;
  [[nodiscard]] std::int64_t bytes_sent() const override { return bytes_sent_; }

  bool try_send(int to, std::span<const float> data) override;
  [[nodiscard]] bool delivered(int to) const override;
  bool try_receive(int from, std::span<float> into, Combine how) override;
  [[nodiscard]] float* shared(std::int64_t sequence, int rank) const override;
  void arrive(std::int64_t sequence) override;
  [[nodiscard]] bool all_arrived(std::int64_t sequence) const override;

 private:
  using Channel = ThreadsGroup::Channel;
  [[nodiscard]] bool advance_oldest();
  [[nodiscard]] bool everybody_posted(std::int64_t sequence) const;
  void check_agreement(std::int64_t sequence);
  [[nodiscard]] Missing missing_in(std::int64_t sequence) const;
  bool offer(Channel channel, int to, Payload data);
  [[nodiscard]] const AllReduceState& state_of(std::int64_t sequence) const {
    return outstanding_[static_cast<std::size_t>(sequence % kMostOutstanding)];
  }

  ThreadsGroup& group_;
  int rank_;
  const AllReduceAlgorithm& algorithm_;
  std::array<AllReduceState, kMostOutstanding> outstanding_{};
  std::int64_t finished_ = 0, posted_ = 0;  // sums so far; between them lie those on their way
  bool agreed_ = false;                     // the oldest was compared with those of the others
  std::int64_t bytes_sent_ = 0;
};

}  // namespace plimsoll::trainer
