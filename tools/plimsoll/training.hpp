// Starts the trainer as a process: the job goes over in a file, the run report comes back in one.

#pragma once

#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/units.hpp"
#include "reports/report.hpp"

namespace plimsoll::tools {

// Runs `job` (its `out` must name a file) and returns how the trainer ended; its own message has
// gone to stderr by then. `show` passes its progress line and summary through.
[[nodiscard]] ExitCode train(const reports::Job& job, bool show, std::optional<Seconds> timeout);

}  // namespace plimsoll::tools
