// Google Benchmark's own JSON on request, written by its own writer from our samples, so that
// compare.py and what else reads that format keeps working.

#pragma once

#include <string>

#include "core/record.hpp"
#include "probes/harness/measure.hpp"
#include "probes/harness/options.hpp"

namespace plimsoll::probes {

// Every sample a repetition, then mean, median, stddev and cv. All numbers are finite; a failed or
// skipped case has error_occurred and an error_message that begins with "failed" or "skipped".
// cpu_time repeats real_time: samples are timed by hand. The build type is that of this program.
[[nodiscard]] std::string google_json(const Measured& measured, const Tool& tool,
                                      const HarnessOptions& options);

}  // namespace plimsoll::probes
