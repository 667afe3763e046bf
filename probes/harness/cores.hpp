// How many cores a probe tries: powers of two and all of them.

#pragma once

#include <memory>
#include <vector>

#include "probes/harness/team.hpp"
#include "probes/probe.hpp"

namespace plimsoll::probes {

[[nodiscard]] inline std::vector<int> core_counts(const ProbeOptions& options) {
  std::vector<int> counts;
  for (int count = 1; count < options.cores; count *= 2) counts.push_back(count);
  counts.push_back(options.cores);
  return counts;
}

// A team on the first `cores` cores.
[[nodiscard]] inline std::unique_ptr<Team> team_of(const ProbeOptions& options, int cores) {
  return std::make_unique<Team>(
      std::vector<int>(options.cpus.begin(), options.cpus.begin() + cores));
}

}  // namespace plimsoll::probes
