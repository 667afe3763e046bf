// Runs the cases of a group through Google Benchmark: in rounds, each in a new order, one sample
// a case and round, until the stopping rule is content with every one of them.

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/units.hpp"
#include "probes/harness/case_run.hpp"
#include "probes/harness/effort.hpp"

namespace plimsoll::probes {

struct GroupTime {
  Seconds budget;                     // time for rounds, from now
  std::function<bool()> out_of_time;  // --max-time is over, or the user interrupts
};

// `seed` makes the orders reproducible. Cases that are over are left out; those without a usable
// sample when time ends stay open for the caller to skip.
void run_rounds(const std::vector<CaseRun*>& cases, const Effort& effort, const GroupTime& time,
                std::uint64_t seed);

}  // namespace plimsoll::probes
