// The learning rate of a step: a pure function of its number, so a resumed run has the same.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/update_rule.hpp"

namespace plimsoll::trainer {

struct ScheduleEntry {
  const char* name;  // of UpdateRule::schedule
  // Share of the full rate at a step of those after the warm-up; `steps` are all of these.
  double (*share)(const UpdateRule& rule, std::int64_t step, std::int64_t steps);
};
[[nodiscard]] std::span<const ScheduleEntry> schedules();

class LearningRate {
 public:
  // `steps` in all, warm-up of the rate included. Error (usage) when the schedule is unknown.
  LearningRate(double full, const UpdateRule& rule, std::int64_t steps);
  [[nodiscard]] double at(std::int64_t step) const;

 private:
  double full_;
  UpdateRule rule_;
  std::int64_t steps_;
  double (*share_)(const UpdateRule&, std::int64_t, std::int64_t);
};

}  // namespace plimsoll::trainer
