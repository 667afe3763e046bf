// Holds predictions against runs. Pure: reports in, a validation out.
//
// Error = (predicted - measured) / measured, given twice: raw, and drift-corrected by the reference
// loops alone. The rule of the correction is fixed here, before anything is measured, and is the
// same for every cell: measured time is divided by the geometric mean of how much longer the
// compute (f32) and memory reference loops took around the run than around the probes. A loop whose
// source differs between the two did other work or ran on other CPUs: it is left out.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/record.hpp"

namespace plimsoll::tools {

inline constexpr const char* kDriftRule =
    "measured / geometric mean over {reference.compute_f32, reference.memory} of (time around the "
    "run / time around the probes), of loops with the same work on the same CPUs";

// A run is repeated when a reference loop took this much longer (or shorter) after it than before.
inline constexpr double kDriftLimit = 0.10;

struct Judged {
  const Report* report = nullptr;
  ReportRef reference;
};

// The reference loops in a report (machine or run), by name.
struct LoopTime {
  double seconds = 0;
  std::string source;  // work and CPUs
};
using ReferenceTimes = std::map<std::string, LoopTime>;
[[nodiscard]] ReferenceTimes reference_times(const Report& report);

// Whether no loop of the two can be compared: then nothing is corrected, the drift ratio is 1.
[[nodiscard]] bool drift_unknown(const ReferenceTimes& now, const ReferenceTimes& when_probed);

// How far the reference loops moved during one run: max over loops of |last / first - 1|.
[[nodiscard]] double drift_within(const Report& run);

// One cell: a prediction and the runs (blocks) of the same plan. Errors: a run of another plan, a
// run that started before its prediction was written, a run that names another prediction (its
// SHA-256 differs), a run without step times.
[[nodiscard]] ValidationCell judge(const Judged& prediction, const std::vector<Judged>& runs,
                                   const ReferenceTimes& when_probed);

// validation.{error_median,error_p90,error_max,bias,coverage} {tier, corrected}, over all rows.
[[nodiscard]] std::vector<Metric> validation_metrics(const Validation& validation,
                                                     const std::string& tier);

}  // namespace plimsoll::tools
