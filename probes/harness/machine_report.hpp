// What was measured, as a report of kind machine with the outcome of this one probe.

#pragma once

#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/record.hpp"
#include "probes/harness/measure.hpp"
#include "probes/harness/options.hpp"

namespace plimsoll::probes {

[[nodiscard]] ProbeOutcome outcome_of(const ProbeInfo& info, const Measured& measured);
[[nodiscard]] Report machine_report(const ProbeInfo& info, const HarnessOptions& options,
                                    const Measured& measured, std::vector<std::string> argv);
[[nodiscard]] ExitCode exit_code_of(const Measured& measured);

// One line a metric: value, interval, samples, and the reason where there is no value.
[[nodiscard]] std::string table_of(const Report& report);

}  // namespace plimsoll::probes
