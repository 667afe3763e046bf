// Messages and sums between threads: pointers change hands, and each byte is read by who needs it.

#include "trainer/comm/threads/communicator.hpp"

#include <cstring>
#include <optional>

namespace plimsoll::trainer {
namespace {

std::string describe(std::int64_t elements, DType dtype) {
  return std::to_string(elements) + " elements of " + to_string(dtype);
}

}  // namespace

// --- Messages ------------------------------------------------------------------------------------
bool ThreadsCommunicator::offer(Channel channel, int to, Payload data) {
  Mailbox& box = group_.mailbox(channel, rank_, to);
  const std::int64_t sent = box.sent.load();
  if (box.taken.load() != sent) return false;
  box.data = static_cast<const std::byte*>(data.data);
  box.elements = data.elements;
  box.dtype = data.dtype;
  box.sent.store(sent + 1);
  group_.ring();
  return true;
}

void ThreadsCommunicator::send(int to, Payload data) {
  const Mailbox& box = group_.mailbox(Channel::messages, rank_, to);
  const auto missing = [&] { return Missing{"a message from this rank", {to}}; };
  group_.wait(
      rank_, [&] { return offer(Channel::messages, to, data); }, missing);
  group_.wait(
      rank_, [&] { return box.taken.load() == box.sent.load(); }, missing);
}

void ThreadsCommunicator::receive(int from, Payload data) {
  Mailbox& box = group_.mailbox(Channel::messages, from, rank_);
  const auto missing = [&] { return Missing{"a message to this rank", {from}}; };
  group_.wait(
      rank_, [&] { return box.sent.load() != box.taken.load(); }, missing);
  if (box.elements != data.elements || box.dtype != data.dtype) {
    const Error error("rank " + std::to_string(from) + " sends " +
                          describe(box.elements, box.dtype) + ", rank " + std::to_string(rank_) +
                          " receives " + describe(data.elements, data.dtype),
                      "receive", "send and receive the same shape on both sides");
    group_.fail(error);
    throw error;
  }
  const auto take = [&] {
    const auto bytes = static_cast<std::size_t>(data.elements * size_of(data.dtype));
    if (bytes > 0) std::memcpy(data.data, box.data, bytes);
    box.taken.store(box.sent.load());
    return true;
  };
  group_.wait(
      rank_, [&] { return group_.with_memory_of_others(rank_, take); }, missing);
  group_.ring();
}

void ThreadsCommunicator::barrier() {
  const std::int64_t mine = group_.of(rank_).barriers.load() + 1;
  group_.of(rank_).barriers.store(mine);
  group_.ring();
  const auto missing = [&] {
    Missing result{"barrier " + std::to_string(mine), {}};
    for (int r = 0; r < size(); ++r) {
      if (group_.of(r).barriers.load() < mine) result.ranks.push_back(r);
    }
    return result;
  };
  group_.wait(
      rank_,
      [&] {
        for (int r = 0; r < size(); ++r) {
          if (group_.of(r).barriers.load() < mine) return false;
        }
        return true;
      },
      missing);
}

// --- Sums ----------------------------------------------------------------------------------------
Work ThreadsCommunicator::all_reduce(Payload data) {
  expects(data.elements >= 0, "all_reduce: an element count is not negative");
  if (posted_ - finished_ == kMostOutstanding) wait(finished_);
  const Work work = posted_++;
  auto* const floats = static_cast<float*>(data.data);
  const bool summable = data.dtype == DType::f32;  // else everybody_posted() ends in an Error
  outstanding_[static_cast<std::size_t>(work % kMostOutstanding)] = {
      .data = {floats, summable ? static_cast<std::size_t>(data.elements) : 0}, .sequence = work};
  // The sum that used this entry is finished here, and so on all ranks: nobody reads it any more.
  Posted& entry = group_.posted(work, rank_);
  entry.data = floats;
  entry.elements = data.elements;
  entry.dtype = data.dtype;
  entry.count.store(work + 1);
  group_.ring();
  return work;
}

bool ThreadsCommunicator::poll() {
  group_.throw_if_failed();
  while (finished_ < posted_) {
    if (!advance_oldest()) return false;
  }
  return true;
}

void ThreadsCommunicator::abandon() noexcept {
  if (size() > 1) group_.abandon(rank_);
}

void ThreadsCommunicator::wait(Work work) {
  expects(work < posted_, "wait: only for what was posted");
  while (finished_ <= work) {
    const std::int64_t oldest = finished_;
    group_.wait(
        rank_, [this] { return advance_oldest(); }, [this, oldest] { return missing_in(oldest); });
  }
}

bool ThreadsCommunicator::advance_oldest() {
  AllReduceState& state = outstanding_[static_cast<std::size_t>(finished_ % kMostOutstanding)];
  if (!agreed_) {
    if (!everybody_posted(state.sequence)) return false;
    check_agreement(state.sequence);
    agreed_ = true;
  }
  if (!group_.with_memory_of_others(rank_, [&] { return algorithm_.advance(*this, state); })) {
    return false;
  }
  if (group_.posted(state.sequence, rank_).arrived.load() <= state.sequence) {
    arrive(state.sequence);  // for algorithms that need no barrier: this rank is not waited for
  }
  bytes_sent_ += state.bytes_sent;
  agreed_ = false;
  ++finished_;
  return true;
}

bool ThreadsCommunicator::everybody_posted(std::int64_t sequence) const {
  for (int r = 0; r < size(); ++r) {
    if (group_.posted(sequence, r).count.load() < sequence + 1) return false;
  }
  return true;
}

// Every rank looks at all entries, so every rank finds the same two that differ.
void ThreadsCommunicator::check_agreement(std::int64_t sequence) {
  const Posted& first = group_.posted(sequence, 0);
  std::optional<Error> error;
  for (int r = 1; r < size() && !error; ++r) {
    const Posted& other = group_.posted(sequence, r);
    if (other.elements == first.elements && other.dtype == first.dtype) continue;
    error = Error("rank 0 brings " + describe(first.elements, first.dtype) + ", rank " +
                      std::to_string(r) + " brings " + describe(other.elements, other.dtype),
                  "all_reduce " + std::to_string(sequence),
                  "give every rank the same graph and bucket size");
  }
  if (!error && first.dtype != DType::f32) {
    error = Error("cannot sum " + to_string(first.dtype), "all_reduce over threads",
                  "sum gradients in f32");
  }
  if (!error) return;
  group_.fail(*error);
  throw Error(*error);
}

Missing ThreadsCommunicator::missing_in(std::int64_t sequence) const {
  const auto bytes = static_cast<std::int64_t>(state_of(sequence).data.size_bytes());
  Missing result{
      "all_reduce " + std::to_string(sequence) + " of " + std::to_string(bytes) + " bytes", {}};
  for (int r = 0; r < size(); ++r) {
    if (group_.posted(sequence, r).count.load() < sequence + 1) result.ranks.push_back(r);
  }
  if (!result.ranks.empty()) return result;
  for (int r = 0; r < size(); ++r) {  // all have posted it, but not all move it forward
    if (r == rank_) continue;
    if (group_.posted(sequence, r).arrived.load() < sequence + 1) result.ranks.push_back(r);
  }
  return result;
}

// --- What algorithms stand on --------------------------------------------------------------------
bool ThreadsCommunicator::try_send(int to, std::span<const float> data) {
  return offer(Channel::collectives, to,
               {.data = const_cast<float*>(data.data()),
                .elements = static_cast<std::int64_t>(data.size())});
}

bool ThreadsCommunicator::delivered(int to) const {
  const Mailbox& box = group_.mailbox(Channel::collectives, rank_, to);
  return box.taken.load() == box.sent.load();
}

bool ThreadsCommunicator::try_receive(int from, std::span<float> into, Combine how) {
  Mailbox& box = group_.mailbox(Channel::collectives, from, rank_);
  const std::int64_t sent = box.sent.load();
  if (box.taken.load() == sent) return false;
  const std::span data(reinterpret_cast<const float*>(box.data),
                       static_cast<std::size_t>(box.elements));
  how == Combine::sum ? add(into, data) : copy(into, data);
  box.taken.store(sent);
  group_.ring();
  return true;
}

float* ThreadsCommunicator::shared(std::int64_t sequence, int rank) const {
  return group_.posted(sequence, rank).data;
}

void ThreadsCommunicator::arrive(std::int64_t sequence) {
  group_.posted(sequence, rank_).arrived.store(sequence + 1);
  group_.ring();
}

bool ThreadsCommunicator::all_arrived(std::int64_t sequence) const {
  for (int r = 0; r < size(); ++r) {
    if (group_.posted(sequence, r).arrived.load() < sequence + 1) return false;
  }
  return true;
}

}  // namespace plimsoll::trainer
