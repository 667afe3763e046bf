// A kernel that is a loop of our own, and how a team shares its rows. The loop reads the places of
// its operands at every execution; their sizes and types are those that it was made for.

#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "trainer/backend/backend.hpp"

namespace plimsoll::trainer::cpu {

class Loop final : public Kernel {
 public:
  using Body = std::function<void(const Operands&)>;

  Loop(const Operands& operands, Cost cost, Body body, Bytes scratch = Bytes(0))
      : operands_(operands), cost_(cost), body_(std::move(body)), scratch_(scratch) {}
  void execute() override { body_(operands_); }
  void bind(const Operands& operands) override { operands_ = operands; }
  [[nodiscard]] Cost counted() const override { return cost_; }
  [[nodiscard]] std::string implementation() const override { return "loop"; }
  [[nodiscard]] Bytes scratch() const override { return scratch_; }

 private:
  Operands operands_;
  Cost cost_;
  Body body_;
  Bytes scratch_;
};

// body(begin, end, thread) on each of `threads` threads for its contiguous part of [0, count), cut
// at multiples of `grain`. Which part a thread gets depends on nothing but these numbers. The body
// must not throw.
template <class Body>
void share(int threads, std::int64_t count, std::int64_t grain, const Body& body) {
  if (threads <= 1) {
    body(std::int64_t{0}, count, 0);
    return;
  }
  const std::int64_t pieces = (count + grain - 1) / grain;
#pragma omp parallel num_threads(threads)
  {
    const std::int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    const std::int64_t begin = std::min(count, pieces * me / team * grain);
    const std::int64_t end = std::min(count, pieces * (me + 1) / team * grain);
    body(begin, end, static_cast<int>(me));
  }
}

template <class T>
[[nodiscard]] T* in_place(const View& view) {
  return static_cast<T*>(view.data);
}

// Elements that one thread should get at least a whole line of, whatever the data type.
inline constexpr std::int64_t kLineOfAny = 32;

}  // namespace plimsoll::trainer::cpu
