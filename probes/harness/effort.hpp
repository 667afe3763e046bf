// How much measuring is enough: by level, and by what the user asked for instead.

#pragma once

#include <cstddef>
#include <cstdint>

#include "core/stopping.hpp"
#include "core/units.hpp"
#include "probes/harness/options.hpp"

namespace plimsoll::probes {

struct Effort {
  Seconds sample_time{5e-3};      // one sample lasts about this long, or one operation if longer
  Seconds budget{11};             // of the whole probe
  StoppingRule rule{};            // its max_time is set for each group
  std::int64_t least_rounds = 6;  // even where time is up: fewer give no 95 % interval
  bool warm_up = true;            // drop the first round
};

// With very many cases samples become shorter, down to a millisecond, so that every case still gets
// its rounds within the budget.
[[nodiscard]] Effort effort_of(const HarnessOptions& options, std::size_t cases = 1);

}  // namespace plimsoll::probes
