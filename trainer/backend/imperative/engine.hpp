// Who executes calls: the caller itself (Inline: each is done before the next begins) or a thread
// of its own (Queue: calls are queued and done in their order; reading a value waits).
//
// The queue's thread may let a few calls gather before it wakes; it never waits when somebody asks.
//
// A call that fails stops those behind it. With the inline engine the error is thrown by the call;
// with the queue by whoever waits next for that call or a later one, with the operator's name.

#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "trainer/backend/backend.hpp"
#include "trainer/backend/imperative/recipe.hpp"

namespace plimsoll::trainer::imperative {

// One kernel to run. The recipe and the name outlive it.
struct Call {
  enum class Kind { operation, accumulate, convert };
  Kind kind = Kind::operation;
  Recipe* recipe = nullptr;
  Direction direction = Direction::forward;
  Operands operands;
  const std::string* name = nullptr;  // of the operator, for errors
  bool counts = true;                 // in flop()
};

// Numbers of calls, from 1; a value that no call writes has 0.
using Ticket = std::uint64_t;

class Engine {
 public:
  virtual ~Engine() = default;
  virtual Ticket submit(Call&& call) = 0;
  // Returns when this call, and all before it, are done.
  virtual void wait(Ticket ticket) = 0;
  [[nodiscard]] virtual bool done(Ticket ticket) const = 0;
  // Runs once the call is done, at once if it is, on the thread that executes. What it throws is
  // thrown by the next wait.
  virtual void then(Ticket ticket, std::function<void()> callback) = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  // Counted by the kernels that were executed; read it after wait().
  [[nodiscard]] virtual Flop flop() const = 0;
};

// The backend outlives the engine.
[[nodiscard]] std::unique_ptr<Engine> make_inline_engine(const Backend& backend);

// Its thread takes the place of the caller's team of `threads`: each member is bound to the CPUs
// that the caller's member of that number is bound to, and the caller sleeps while it waits. So a
// rank needs no core more than with the inline engine; on a single core the two threads take turns.
[[nodiscard]] std::unique_ptr<Engine> make_queue_engine(const Backend& backend, int threads);

}  // namespace plimsoll::trainer::imperative
