// What a call through the imperative front end costs beside its kernel.

#pragma once

#include <memory>

#include "probes/kernel/crew.hpp"
#include "probes/probe.hpp"

namespace plimsoll::probes {

enum class FrontEnd { eager, async };

// One operation is a training step of a few small operators through the front end, less the time
// of the same kernels replayed on the same buffers just after it; its work is the calls in it.
[[nodiscard]] std::unique_ptr<Subject> front_end_subject(std::shared_ptr<Crew> crew,
                                                         FrontEnd front_end);

}  // namespace plimsoll::probes
