// The list of schedules.

#include "trainer/optimizer/schedule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/error.hpp"

namespace plimsoll::trainer {
namespace {

double constant(const UpdateRule&, std::int64_t, std::int64_t) { return 1.0; }

// Half a period of a cosine, from 1 before the first step down to 0 after the last one.
// Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017, eq.
// 5.
double cosine(const UpdateRule&, std::int64_t step, std::int64_t steps) {
  const double done =
      static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(steps, 1));
  return 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(done, 1.0)));
}

double stairs(const UpdateRule& rule, std::int64_t step, std::int64_t) {
  return std::pow(rule.step_factor, static_cast<double>(step / rule.step_every));
}

constexpr std::array kSchedules{ScheduleEntry{"constant", constant},
                                ScheduleEntry{"cosine", cosine}, ScheduleEntry{"step", stairs}};

}  // namespace

std::span<const ScheduleEntry> schedules() { return kSchedules; }

LearningRate::LearningRate(double full, const UpdateRule& rule, std::int64_t steps)
    : full_(full), rule_(rule), steps_(steps), share_(nullptr) {
  std::string known;
  for (const ScheduleEntry& entry : kSchedules) {
    if (entry.name == rule.schedule) share_ = entry.share;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  if (share_ == nullptr) {
    throw usage_error("unknown schedule '" + rule.schedule + "'", "--lr-schedule",
                      "use one of: " + known);
  }
  if (rule.schedule == "step" && rule.step_every < 1) {
    throw usage_error("a step schedule after every " + std::to_string(rule.step_every) + " steps",
                      "--lr-step-every", "say after how many steps the learning rate falls");
  }
}

double LearningRate::at(std::int64_t step) const {
  if (step < rule_.warmup_steps) {
    return full_ * static_cast<double>(step + 1) / static_cast<double>(rule_.warmup_steps);
  }
  return full_ * share_(rule_, step - rule_.warmup_steps, steps_ - rule_.warmup_steps);
}

}  // namespace plimsoll::trainer
