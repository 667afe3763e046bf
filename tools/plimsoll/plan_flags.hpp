// The plan flags, the same words in predict, train and validate.

#pragma once

#include <CLI/CLI.hpp>

#include "core/plan.hpp"

namespace plimsoll::tools {

// Adds --workload, --batch, --dtype, --device, --workers, --threads, --comm, --sync, --algorithm,
// --bucket, --overlap, --execution, --loader-workers, --prefetch, --accumulate, --optimizer to
// `command`, bound to `plan`.
void add_plan_flags(CLI::App& command, Plan& plan);

}  // namespace plimsoll::tools
