// One function per part of the machine: each takes a metric into the machine if it is one of its
// own, and says whether it was. finish() derives what no single metric says.

#pragma once

#include <vector>

#include "core/machine.hpp"
#include "core/record.hpp"

namespace plimsoll::models {

bool take_compute(const Metric& metric, Machine& machine);
bool take_memory_levels(const Metric& metric, Machine& machine);
bool take_kernels(const Metric& metric, Machine& machine);
bool take_transfers(const Metric& metric, Machine& machine);  // collectives, network, storage

// reference.*.time may stand in a report more than once: all of them are needed together.
void fit_reference(const std::vector<Metric>& metrics, Machine& machine);
void list_missing(Machine& machine);

}  // namespace plimsoll::models
