// What a rank holds in memory while it trains.

#pragma once

#include <cstdint>
#include <vector>

#include "core/plan.hpp"
#include "core/record.hpp"
#include "core/workload.hpp"

namespace plimsoll::models {

// Bytes of one rank with `batch` samples, term by term; their sum is the peak.
[[nodiscard]] std::vector<MemoryItem> footprint(const Workload& workload, const Plan& plan,
                                                std::int64_t batch);
[[nodiscard]] Bytes total(const std::vector<MemoryItem>& items);

}  // namespace plimsoll::models
