// Reference loops: the machine's speed while the report was made, how steady one repeated piece of
// work was, and how far the machine moved between the loops.
//
//     value = median over the report's loops;  jitter = 1.4826 mad / median of one loop's samples
//     drift = 1.4826 mad / median over the loops' values, the largest of the three kinds
//
// Source    core/system/reference_loops, in every report.
// Assumes   Loops stand before, between and after the probes, so that their spread is the drift.
// Fails     With fewer than three loops of a kind the drift is not known.
// Limits    Identical loops: drift and jitter 0.
// Tests     tests/models/fit/fit_test.cpp.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "models/fit/parts.hpp"
#include "models/fit/reading.hpp"

namespace plimsoll::models {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

double robust_spread(const std::vector<double>& values) {
  const double centre = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double v : values) distances.push_back(std::abs(v - centre));
  return 1.4826 * median(distances) / centre;
}

void raise(std::optional<double>& most, double value) {
  most = most ? std::max(*most, value) : value;
}

std::optional<Estimate<Seconds>> loops_of(const std::string& name,
                                          const std::vector<Metric>& metrics, Machine& machine) {
  std::vector<double> values;
  double low = 0, high = 0;
  for (const Metric& metric : metrics) {
    if (metric.name != name || !usable(metric)) continue;
    const PlainEstimate e = plain_estimate(metric);
    low = values.empty() ? e.low : std::min(low, e.low);
    high = std::max(high, e.high);
    values.push_back(e.value);
    const bool positive =
        std::all_of(metric.samples.begin(), metric.samples.end(), [](double s) { return s > 0; });
    if (metric.samples.size() >= 5 && positive) {
      raise(machine.jitter_ratio, robust_spread(metric.samples));
    }
  }
  if (values.empty()) return std::nullopt;
  if (values.size() >= 3) raise(machine.drift_ratio, robust_spread(values));
  return Estimate<Seconds>{.value = Seconds(median(values)),
                           .low = Seconds(low),
                           .high = Seconds(high),
                           .kind = Kind::measured,
                           .source = name};
}

}  // namespace

void fit_reference(const std::vector<Metric>& metrics, Machine& machine) {
  machine.reference.compute_f32 = loops_of("reference.compute_f32.time", metrics, machine);
  machine.reference.compute_bf16 = loops_of("reference.compute_bf16.time", metrics, machine);
  machine.reference.memory = loops_of("reference.memory.time", metrics, machine);
}

void list_missing(Machine& machine) {
  const auto note = [&](bool there, const char* name) {
    if (!there) machine.missing.emplace_back(name);
  };
  note(!machine.compute.empty(), "cpu.flops.rate");
  note(!machine.bandwidths.empty(), "memory.stream_bandwidth");
  note(!machine.matmul.empty(), "kernel.matmul.rate");
  note(!machine.convolution.empty(), "kernel.convolution.rate");
  note(!machine.pooling.empty(), "kernel.pooling.bandwidth");
  note(!machine.elementwise.empty(), "kernel.elementwise.bandwidth");
  note(!machine.dispatch.empty(), "kernel.dispatch.time");
  note(!machine.all_reduce.empty(), "collective.all_reduce.time");
  note(machine.reference.compute_f32.has_value(), "reference.compute_f32.time");
  note(machine.reference.memory.has_value(), "reference.memory.time");
}

}  // namespace plimsoll::models
