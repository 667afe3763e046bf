// Compute ceilings: what the cores do at best, by data type, instruction set and number of cores.
//
//     ceiling(dtype, cores) = max over instruction sets of cpu.flops.rate
//
// Source    Probe cpu.flops.
// Assumes   The probe keeps every core busy with independent multiply-adds.
// Fails     Where a kernel runs an instruction set that was not probed.
// Limits    -
// Tests     tests/models/fit/fit_test.cpp.

#include "models/fit/parts.hpp"
#include "models/fit/reading.hpp"

namespace plimsoll::models {

bool take_compute(const Metric& metric, Machine& machine) {
  if (metric.name != "cpu.flops.rate") return false;
  machine.compute.push_back({.dtype = text_param(metric, "dtype"),
                             .instruction_set = text_param(metric, "instruction_set"),
                             .cores = static_cast<int>(count_param_or(metric, "cores", 1, 1)),
                             .rate = estimate_of<FlopPerSecond>(metric)});
  return true;
}

}  // namespace plimsoll::models
