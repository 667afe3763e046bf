// Takes the cases of a probe group by group, with the reference loops before, between and after.

#pragma once

#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/units.hpp"
#include "probes/harness/case_run.hpp"
#include "probes/harness/options.hpp"

namespace plimsoll::probes {

struct Measured {
  std::vector<Metric> cases;       // in the order of the case list
  std::vector<Metric> references;  // reference.*.time, one sample before, between and after groups
  std::vector<Finding> findings;
  // Google Benchmark's JSON wants times an operation, not values.
  struct Times {
    std::string name;
    std::int64_t operations = 1;
    std::vector<double> seconds;
  };
  std::vector<Times> times;  // of each case
  Seconds duration;
  bool interrupted = false;
  bool out_of_time = false;  // --max-time ended while cases still wanted samples
};

[[nodiscard]] Measured measure(const std::vector<Case>& cases, const ProbeInfo& info,
                               const HarnessOptions& options);

}  // namespace plimsoll::probes
