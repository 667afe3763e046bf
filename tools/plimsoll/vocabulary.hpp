// The words that no probe and no check describes itself: what runs, predictions and validations
// report, and the findings of this command and of the trainer.

#pragma once

#include <span>
#include <string_view>

namespace plimsoll::tools {

struct Word {
  std::string_view id, kind, unit, meaning, formula, source;
};

[[nodiscard]] std::span<const Word> vocabulary();

}  // namespace plimsoll::tools
