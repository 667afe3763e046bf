// Runs the cases of a group through Google Benchmark: in rounds, each in a new order, one sample
// a case and round, until the stopping rule is content with every one of them.

#pragma once

#include <functional>
#include <vector>

#include "core/stopping.hpp"
#include "core/units.hpp"
#include "probes/harness/case_run.hpp"

namespace plimsoll::probes {

// How much is enough, by level.
struct Effort {
  Seconds sample_time{5e-3};
  Seconds budget{12};             // of the whole probe
  StoppingRule rule;              // its max_time is set for each group
  std::int64_t least_rounds = 6;  // even where time is up: fewer give no 95 % interval
  bool warm_up = true;            // drop the first round
};

struct GroupTime {
  Seconds budget;                     // time for rounds, from now
  std::function<bool()> out_of_time;  // --max-time is over, or the user interrupts
};

// `seed` makes the orders reproducible. Cases that are over are left out; those without a usable
// sample when time ends stay open for the caller to skip.
void run_rounds(const std::vector<CaseRun*>& cases, const Effort& effort, const GroupTime& time,
                std::uint64_t seed);

}  // namespace plimsoll::probes
