// The simplest timed region: some operation, that often, between two reads of the steady clock.
// Probes whose operation needs threads or asynchronous completion time themselves.

#pragma once

#include <chrono>
#include <cstdint>

#include "core/units.hpp"

namespace plimsoll::probes {

template <class Operation>
Seconds timed(std::int64_t operations, Operation&& operation) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < operations; ++i) operation();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  return Seconds(spent.count());
}

}  // namespace plimsoll::probes
