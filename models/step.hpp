// How long one training step takes on a machine, and why: read this file first.
//
//     step = input + h2d + forward + backward + stolen + communication_exposed + optimizer + idle
//
// `stolen` is the part of communication_hidden that the computing cores do themselves.
//
// Every term has a file: operators (models/operator), collectives (models/collective), their
// composition for data parallelism (models/strategy/data_parallel), the loader (models/input),
// memory (models/memory). predict() is pure: the same input gives the same bits.

#pragma once

#include <vector>

#include "core/machine.hpp"
#include "core/plan.hpp"
#include "core/record.hpp"
#include "core/workload.hpp"
#include "models/what_if.hpp"

namespace plimsoll::models {

// `prediction.machine` (which file was read) is left empty: only the caller knows it.
// Errors (usage): a plan that the model does not know. Errors: the machine lacks what is needed;
// the text names the probe to run.
[[nodiscard]] Prediction predict(const Machine& machine, const Workload& workload, const Plan& plan,
                                 const WhatIf& what_if = {});

// predict.step_time (with its interval), predict.sample_rate, predict.flop_rate,
// predict.utilisation (where a compute ceiling is known), predict.peak_memory, predict.phase.*.
[[nodiscard]] std::vector<Metric> metrics_of(const Prediction& prediction, const Machine& machine);

}  // namespace plimsoll::models
