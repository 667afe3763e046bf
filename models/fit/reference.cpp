// Reference loops: the machine's speed while the report was made, and how far it moved meanwhile.
//
//     value = median over all samples;  drift = 1.4826 mad / median, the largest of the three loops
//
// Source    core/system/reference_loops, in every report.
// Assumes   Loops stand before, between and after the probes, so that their spread is the drift.
// All ranks
//           drift alike: it widens the interval and makes no straggler.
// Fails     With fewer than three samples of a loop its drift is not known.
// Limits    Identical samples: drift 0.
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

std::optional<Estimate<Seconds>> loop_of(const std::string& name,
                                         const std::vector<Metric>& metrics, Machine& machine) {
  std::vector<double> samples;
  std::optional<std::string> source;  // other work or other CPUs: not the same loop
  for (const Metric& metric : metrics) {
    if (metric.name != name || !usable(metric)) continue;
    if (source.value_or(metric.source) != metric.source) continue;
    source = metric.source;
    const double value = plain_estimate(metric).value;
    const bool positive =
        std::all_of(metric.samples.begin(), metric.samples.end(), [](double s) { return s > 0; });
    if (metric.samples.empty() || !positive) {
      samples.push_back(value);
    } else {
      samples.insert(samples.end(), metric.samples.begin(), metric.samples.end());
    }
  }
  if (samples.empty()) return std::nullopt;
  if (samples.size() >= 3) {
    machine.drift_ratio = std::max(machine.drift_ratio.value_or(0), robust_spread(samples));
  }
  const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
  return Estimate<Seconds>{.value = Seconds(median(samples)),
                           .low = Seconds(*low),
                           .high = Seconds(*high),
                           .kind = Kind::measured,
                           .source = name};
}

}  // namespace

void fit_reference(const std::vector<Metric>& metrics, Machine& machine) {
  machine.reference.compute_f32 = loop_of("reference.compute_f32.time", metrics, machine);
  machine.reference.compute_bf16 = loop_of("reference.compute_bf16.time", metrics, machine);
  machine.reference.memory = loop_of("reference.memory.time", metrics, machine);
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
