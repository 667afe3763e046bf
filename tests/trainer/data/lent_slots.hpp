// Slots of a loader for tests: room for `batch` samples of floats or tokens and their labels.

#pragma once

#include <cstdint>
#include <vector>

#include "trainer/data/loader.hpp"

namespace plimsoll::trainer::testing {

struct LentSlots {
  LentSlots(int slots, std::int64_t floats, std::int64_t tokens, std::int64_t labels) {
    for (int i = 0; i < slots; ++i) {
      x.emplace_back(static_cast<std::size_t>(floats));
      token.emplace_back(static_cast<std::size_t>(tokens));
      label.emplace_back(static_cast<std::size_t>(labels));
    }
  }
  std::vector<InputSlot> slots() {
    std::vector<InputSlot> result;
    for (std::size_t i = 0; i < x.size(); ++i) {
      result.push_back({.x = x[i].empty() ? nullptr : x[i].data(),
                        .tokens = token[i].empty() ? nullptr : token[i].data(),
                        .labels = label[i].data()});
    }
    return result;
  }
  std::vector<std::vector<float>> x;
  std::vector<std::vector<std::int32_t>> token, label;
};

}  // namespace plimsoll::trainer::testing
