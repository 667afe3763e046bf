// Jobs of the two loops that belong to no operator: the optimizer's update and the loader's gather.

#pragma once

#include <cstdint>

#include "probes/kernel/rotation.hpp"

namespace plimsoll::probes {

// Five streams of 4 bytes an element: weight and velocity read and written, gradient read.
[[nodiscard]] Job sgd_job(std::int64_t elements, int threads, Placement& placement);
inline constexpr std::int64_t kSgdBytesPerElement = 20;

// Rows of kGatherRow bytes, picked at random from `dataset` bytes, become floats.
inline constexpr std::int64_t kGatherRow = 1024;
inline constexpr std::int64_t kGatherBytesPerElement = 5;
[[nodiscard]] Job gather_job(std::int64_t rows, std::int64_t dataset, Placement& placement);

}  // namespace plimsoll::probes
