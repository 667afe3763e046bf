// The update and the gather as kernels, with their formulas as checks.

#include "probes/kernel/elementwise_jobs.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::probes {
namespace {

constexpr std::int64_t kChecked = 16;  // elements, spread over all, first and last included

std::vector<std::int64_t> spread_over(std::int64_t count) {
  const std::int64_t checked = std::min(count, kChecked);
  std::vector<std::int64_t> at;
  for (std::int64_t i = 0; i < checked; ++i) {
    at.push_back(checked == 1 ? 0 : i * (count - 1) / (checked - 1));
  }
  return at;
}

std::optional<std::string> compare(std::int64_t at, double actual, double expected) {
  if (std::abs(actual - expected) <= 1e-5) return std::nullopt;  // false for NaN
  return "element " + std::to_string(at) + " is " + std::to_string(actual) + " and should be " +
         std::to_string(expected);
}

// A loop of the backend as a Kernel.
class Loop final : public trainer::Kernel {
 public:
  Loop(std::function<void()> body, Cost cost) : body_(std::move(body)), cost_(cost) {}
  void execute() override { body_(); }
  [[nodiscard]] Cost counted() const override { return cost_; }
  [[nodiscard]] std::string implementation() const override { return "loop"; }

 private:
  std::function<void()> body_;
  Cost cost_;
};

float* floats(const trainer::View& view) { return static_cast<float*>(view.data); }

}  // namespace

Job sgd_job(std::int64_t elements, int threads, Placement& placement) {
  // So small a rate that weights stay where they are over millions of updates.
  constexpr trainer::SgdStep kStep{
      .learning_rate = 1e-9F, .momentum = 0.9F, .gradient_scale = 0.1F};
  float* const gradient = floats(placement.input(elements));
  float* const weights = floats(placement.output(elements));
  float* const velocity = floats(placement.output(elements));
  const auto update = [=] {
    trainer::sgd_momentum(weights, velocity, gradient, elements, kStep, threads);
  };
  const auto count = static_cast<double>(elements);
  Job job{.kernel = std::make_unique<Loop>(
              update, Cost{Flop(5 * count), Bytes(kSgdBytesPerElement * count)}),
          .check = {}};
  job.check = [=]() -> std::optional<std::string> {
    const std::vector<std::int64_t> sampled = spread_over(elements);
    for (const std::int64_t i : sampled) {
      weights[i] = 0.25F;
      velocity[i] = -0.5F;
    }
    update();
    for (const std::int64_t i : sampled) {
      const double expected = 0.9 * -0.5 + 0.1 * double{gradient[i]};
      if (auto wrong = compare(i, double{velocity[i]}, expected)) return wrong;
      if (auto wrong = compare(i, double{weights[i]}, 0.25 - 1e-9 * expected)) return wrong;
    }
    return std::nullopt;
  };
  return job;
}

Job gather_job(std::int64_t rows, std::int64_t dataset, Placement& placement) {
  constexpr float kScale = 1.0F / 255.0F, kShift = -0.5F;
  // The dataset is the same for every set: its rows are picked anew.
  const auto* const bytes = static_cast<const std::uint8_t*>(placement.recent(dataset / 4).data);
  float* const out = floats(placement.output(rows * kGatherRow));
  std::vector<std::int64_t> index(static_cast<std::size_t>(rows));
  const auto where = reinterpret_cast<std::uintptr_t>(out);
  std::mt19937_64 random(where);  // other rows for every set
  std::uniform_int_distribution<std::int64_t> any(0, dataset / kGatherRow - 1);
  for (std::int64_t& row : index) row = any(random);
  const auto gather = [=] {
    trainer::gather_u8(out, bytes, kGatherRow, index.data(), std::ssize(index), kScale, kShift);
  };
  const auto count = static_cast<double>(rows * kGatherRow);
  Job job{.kernel = std::make_unique<Loop>(
              gather, Cost{Flop(2 * count), Bytes(kGatherBytesPerElement * count)}),
          .check = {}};
  job.check = [=]() -> std::optional<std::string> {
    const std::vector<std::int64_t> sampled = spread_over(rows * kGatherRow);
    for (const std::int64_t i : sampled) out[i] = std::nanf("");
    gather();
    for (const std::int64_t i : sampled) {
      const std::int64_t row = index[static_cast<std::size_t>(i / kGatherRow)];
      const std::uint8_t byte = bytes[row * kGatherRow + i % kGatherRow];
      if (auto wrong = compare(i, double{out[i]}, byte / 255.0 - 0.5)) return wrong;
    }
    return std::nullopt;
  };
  return job;
}

}  // namespace plimsoll::probes
