// What ranks say to each other while they train: messages, a barrier, and an asynchronous sum.
//
// Every rank makes the same calls in the same order. all_reduce() only posts; poll() moves posted
// sums forward on the calling thread and never blocks; wait() blocks until one is finished. No
// call waits for ever: past the deadline, or when a rank failed or left, it throws an Error that
// names the ranks that did not arrive.

#pragma once

#include <cstdint>
#include <string>

#include "core/workload.hpp"

namespace plimsoll::trainer {

// Memory of the caller, which must stay where it is until the operation has finished.
struct Payload {
  void* data = nullptr;
  std::int64_t elements = 0;
  DType dtype = DType::f32;
};

// A posted all_reduce: the how-manieth of this communicator.
using Work = std::int64_t;

class Communicator {
 public:
  virtual ~Communicator() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  // Return when the receiver has taken the data, and when it has arrived.
  virtual void send(int to, Payload data) = 0;
  virtual void receive(int from, Payload data) = 0;
  virtual void barrier() = 0;

  // Posts the in-place sum over all ranks; the result has the same bits on every rank. Ranks that
  // bring different element counts or types get an Error that names both, every one of them.
  [[nodiscard]] virtual Work all_reduce(Payload data) = 0;
  // Moves posted sums forward, oldest first; true when none is left.
  virtual bool poll() = 0;
  virtual void wait(Work work) = 0;
  // Before memory that may still be posted is freed on the way out of a failure: afterwards no
  // other rank touches it. The communicator moves nothing any more.
  virtual void abandon() noexcept = 0;

  // Bytes of all_reduce that this rank gave to others so far.
  [[nodiscard]] virtual std::int64_t bytes_sent() const = 0;
};

}  // namespace plimsoll::trainer
