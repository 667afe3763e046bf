// Starts the trainer as a process: the job goes over in a file, the run report comes back in one.

#pragma once

#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/units.hpp"
#include "reports/report.hpp"

namespace plimsoll::tools {

// How long a job may take before it counts as hung: two minutes to begin and to end, and twenty
// times what its steps are expected to take. `step` is a predicted step time. Without one it is
// estimated from the graph for a machine of 5 GFLOP/s and 1 GB/s, which any core exceeds.
// A user's own data set is counted by the size of its files, which may be compressed.
[[nodiscard]] Seconds time_limit(const reports::Job& job, std::optional<Seconds> step = {});

inline constexpr const char* kTimeoutHelp =
    "seconds that a training may take before it is stopped [generous, from its estimate]";

// Runs `job` (its `out` must name a file) and returns how the trainer ended; the message has gone
// to stderr by then. `show` passes its progress line and summary through. After `limit` it is asked
// to end, and killed with its ranks when it does not; a report that it still wrote is there.
[[nodiscard]] ExitCode train(const reports::Job& job, bool show, Seconds limit);

// Whether the trainer could begin: the plan, the options, and the data, which is read and checked.
// Trains nothing. The message has gone to stderr.
[[nodiscard]] ExitCode check_training(reports::Job job);

}  // namespace plimsoll::tools
