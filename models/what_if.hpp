// Factors on what the machine can do: "what if memory were twice as fast?" Rates are multiplied,
// the cost of a dispatch is multiplied too (0.5 = half the cost). All 1: the machine as measured.

#pragma once

#include <string>

namespace plimsoll::models {

struct WhatIf {
  double compute_ratio = 1.0;     // FLOP rate of every core
  double memory_ratio = 1.0;      // bandwidth of every memory level
  double all_reduce_ratio = 1.0;  // rate of every collective
  double dispatch_ratio = 1.0;    // cost of one operator call
  double loader_ratio = 1.0;      // rate at which batches are assembled
  bool operator==(const WhatIf&) const = default;
};

// Reads "memory=x2" or "dispatch=x0.5" into `what_if`. Error (usage) naming the possible inputs.
void set(WhatIf& what_if, const std::string& assignment);
// "memory x2, dispatch x0.5": the factors that are not 1.
[[nodiscard]] std::string text_of(const WhatIf& what_if);

}  // namespace plimsoll::models
