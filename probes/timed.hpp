// The simplest timed region: some operation, that often, between two reads of the steady clock.
// Probes whose operation needs threads or asynchronous completion time themselves.

#pragma once

#include <cstdint>

#include "core/system/clock.hpp"
#include "core/units.hpp"

namespace plimsoll::probes {

template <class Operation>
Seconds timed(std::int64_t operations, Operation&& operation) {
  const Seconds begin = sys::now();
  for (std::int64_t i = 0; i < operations; ++i) operation();
  return sys::now() - begin;
}

}  // namespace plimsoll::probes
