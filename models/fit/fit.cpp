// From metrics to a machine: each metric goes to the part that knows its name.
//
//     Machine = {compute, memory levels, kernels, transfers, reference loops}
//
// Source    The metric names of the probes; models/README.md lists which part reads which.
// Assumes   One report, one machine: metrics of two machines must not be mixed.
// Fails     On a used metric that is broken: an Error naming it.
// Limits    No metrics at all: an empty machine, with everything listed as missing.
// Tests     tests/models/fit/fit_test.cpp.

#include "models/fit/fit.hpp"

#include "models/fit/parts.hpp"
#include "models/fit/reading.hpp"

namespace plimsoll::models {

Machine fit(const std::vector<Metric>& metrics, const Host& host) {
  Machine machine;
  machine.name = host.name;
  machine.usable_cores = host.usable_cores;
  machine.memory_capacity = host.memory_capacity;
  for (const Metric& metric : metrics) {
    if (!usable(metric)) continue;
    const bool taken = take_compute(metric, machine) || take_memory_levels(metric, machine) ||
                       take_kernels(metric, machine) || take_transfers(metric, machine);
    static_cast<void>(taken);  // a name that no part knows is somebody else's
  }
  fit_reference(metrics, machine);
  list_missing(machine);
  return machine;
}

}  // namespace plimsoll::models
