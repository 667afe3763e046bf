// The life of a case; its order is kept by rounds.cpp.

#include "probes/harness/case_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

#include "core/error.hpp"
#include "core/statistics.hpp"

namespace plimsoll::probes {
namespace {

constexpr std::int64_t kMostOperations = std::int64_t{1} << 40;
constexpr std::int64_t kMostUselessTimes = 3;  // or a fifth of all, whichever is more

// On one line: reports and tables hold it.
std::string text_of(const std::exception& error) {
  const auto* ours = dynamic_cast<const Error*>(&error);
  if (ours == nullptr) return error.what();
  return ours->problem() + " (" + ours->where() + "); " + ours->fix();
}

bool usable(Seconds time) { return std::isfinite(time.value()) && time.value() > 0; }

std::string text_of(const ParamValue& value) {
  struct Text {
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(double number) const { return fmt::format("{}", number); }
  };
  return std::visit(Text{}, value);
}

double estimate(Estimator estimator, Samples samples) {
  switch (estimator) {
    case Estimator::min:
      return *std::ranges::min_element(samples);
    case Estimator::max:
      return *std::ranges::max_element(samples);
    case Estimator::mean:
      return mean(samples);
    case Estimator::median:
    case Estimator::fit:
      return median(samples);
  }
  expects(false, "estimate: unknown estimator");
  return 0;
}

}  // namespace

std::string case_name(std::string_view metric, const Params& params) {
  std::string name(metric);
  for (const auto& [key, value] : params) name += "/" + key + ":" + text_of(value);
  return name;
}

CaseRun::CaseRun(const Case& spec, const MetricInfo& info)
    : spec_(spec), info_(info), name_(case_name(info.name, spec.params)) {
  metric_.name = info.name;
  metric_.params = spec.params;
  metric_.unit = info.unit;
  metric_.better = info.unit == "s" ? Better::lower : Better::higher;
  metric_.estimator = info.estimator;
  if (!spec.skip.empty()) skip("not_applicable", spec.skip);
}

void CaseRun::end(Status status, std::string_view type, const std::string& why) {
  if (over_) return;
  over_ = true;
  metric_.status = status;
  metric_.reason = std::string(type) + ": " + why;
  metric_.samples.clear();
  subject_.reset();
}

void CaseRun::skip(std::string_view type, const std::string& why) {
  end(Status::skipped, type, why);
}

void CaseRun::fail(std::string_view type, const std::string& why) {
  end(Status::failed, type, why);
}

std::optional<Seconds> CaseRun::run_once() {
  try {
    return subject_->run(operations_);
  } catch (const std::exception& error) {
    fail("error", text_of(error));
    return std::nullopt;
  }
}

bool CaseRun::prepare(Seconds sample_time) {
  if (over_) return false;
  try {
    subject_ = spec_.make();
  } catch (const NotApplicable& reason) {
    skip("not_applicable", reason.what());
    return false;
  } catch (const std::exception& error) {
    fail("error", text_of(error));
    return false;
  }
  if (!subject_) {
    fail("error", "the probe made nothing to measure");
    return false;
  }
  for (std::int64_t useless = 0;;) {
    const std::optional<Seconds> time = run_once();
    if (!time) return false;
    double growth = 10;
    if (usable(*time)) {
      growth = sample_time / *time;
      if (growth < 2 || operations_ >= kMostOperations) {
        const double wanted =
            std::clamp(static_cast<double>(operations_) * growth, 1.0, double{kMostOperations});
        operations_ = static_cast<std::int64_t>(std::round(wanted));
        return true;
      }
    } else if (++useless > kMostUselessTimes || operations_ >= kMostOperations) {
      fail("unusable_time", fmt::format("a run took {} s", time->value()));
      return false;
    }
    operations_ *= static_cast<std::int64_t>(std::clamp(growth, 2.0, 10.0));
  }
}

bool CaseRun::verify() {
  if (over_) return false;
  try {
    if (const std::optional<std::string> wrong = subject_->verify()) {
      fail("wrong_answer", *wrong);
      return false;
    }
  } catch (const std::exception& error) {
    fail("error", text_of(error));
    return false;
  }
  return true;
}

double CaseRun::value_of(Seconds time) const {
  const double work = subject_->work();
  return info_.unit == "s" ? time.value() / work : work / time.value();
}

void CaseRun::take(Seconds time, Seconds elapsed, const StoppingRule& rule) {
  if (!stopping_) stopping_.emplace(rule);
  const Seconds each = time / static_cast<double>(operations_);
  const double value = usable(time) ? value_of(each) : std::numeric_limits<double>::quiet_NaN();
  if (!std::isfinite(value)) {
    ++dropped_;
    const auto kept = static_cast<std::int64_t>(times_.size());
    if (dropped_ > std::max(kMostUselessTimes, (kept + dropped_) / 5)) {
      fail("unusable_time",
           fmt::format("{} of {} samples were not finite and positive; the last was {} s", dropped_,
                       kept + dropped_, time.value()));
    }
    return;
  }
  times_.push_back(each.value());
  if (const auto reason = stopping_->add(value, elapsed)) stop(*reason);
}

void CaseRun::finish() {
  if (over_) return;
  if (times_.empty()) {
    fail("unusable_time", "no sample was usable");
    return;
  }
  if (!verify()) return;
  try {
    summarise();
  } catch (const std::exception& error) {
    fail("error", text_of(error));
    return;
  }
  judge_range();
  over_ = true;
  subject_.reset();
}

void CaseRun::summarise() {
  const std::vector<double>& samples = stopping_->samples();
  metric_.samples = samples;
  metric_.summary = summary_fields(summarize(samples));
  for (const auto& [key, value] : subject_->summary()) {
    if (std::isfinite(value)) metric_.summary[key] = value;
  }
  metric_.summary["operations"] = static_cast<double>(operations_);
  if (dropped_ > 0) metric_.summary["dropped"] = static_cast<double>(dropped_);
  if (const auto noise = stopping_->noise()) metric_.summary["noise"] = *noise;
  if (stopped_) {
    std::string key = "stopped_" + std::string(stop_reason_name(*stopped_));
    std::ranges::replace(key, ' ', '_');
    metric_.summary[key] = 1;
  }
  metric_.value = estimate(info_.estimator, samples);
  if (samples.size() > 1) {  // one sample has no interval
    metric_.interval = info_.estimator == Estimator::median
                           ? median_interval(samples)
                           : bootstrap_interval(samples, [this](Samples drawn) {
                               return estimate(info_.estimator, drawn);
                             });
  }
  metric_.checked = true;
  metric_.source = subject_->source();
}

void CaseRun::judge_range() {
  const double at_most = std::min(info_.at_most, spec_.at_most);
  if (*metric_.value >= info_.at_least && *metric_.value <= at_most) return;
  metric_.status = Status::implausible;
  metric_.reason = fmt::format("range: {:g} {} is outside the plausible {:g} to {:g}",
                               *metric_.value, info_.unit, info_.at_least, at_most);
}

Metric CaseRun::metric() const {
  expects(over_, "a case was asked for its metric before it was over");
  return metric_;
}

}  // namespace plimsoll::probes
