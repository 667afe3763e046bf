// The distributed sampler.

#include "trainer/data/sampler.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "core/plan.hpp"
#include "trainer/data/random.hpp"

namespace plimsoll::trainer {
namespace {

constexpr std::uint64_t kOrderStream = 0x6F72646572ULL;  // keeps orders apart from weights

}  // namespace

Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  expects(
      options.count >= 1 && options.batch >= 1 && options.workers >= 1 && options.accumulate >= 1,
      "a sampler has samples, a batch, workers and micro-batches");
}

std::int64_t Sampler::steps_per_epoch() const {
  return (options_.count + options_.batch - 1) / options_.batch;
}

std::int64_t Sampler::global_batch(std::int64_t step) const {
  const std::int64_t start = step % steps_per_epoch() * options_.batch;
  return std::min(options_.batch, options_.count - start);
}

Sampler::Share Sampler::share(std::int64_t step, int micro, int rank) const {
  const auto run_of = [](std::int64_t count, int parts, int part) {
    const std::vector<std::int64_t> sizes = shares(count, parts);
    Share run;
    for (int before = 0; before < part; ++before)
      run.first += sizes[static_cast<std::size_t>(before)];
    run.count = sizes[static_cast<std::size_t>(part)];
    return run;
  };
  const Share whole = run_of(global_batch(step), options_.accumulate, micro);
  const Share own = run_of(whole.count, options_.workers, rank);
  return {.first = whole.first + own.first, .count = own.count};
}

std::int64_t Sampler::local_batch(std::int64_t step, int rank) const {
  std::int64_t count = 0;
  for (int micro = 0; micro < options_.accumulate; ++micro) count += share(step, micro, rank).count;
  return count;
}

std::vector<std::int64_t> Sampler::local_batches(int rank) const {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t step : {std::int64_t{0}, steps_per_epoch() - 1}) {
    for (int micro = 0; micro < options_.accumulate; ++micro) {
      const std::int64_t size = share(step, micro, rank).count;
      if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
    }
  }
  return sizes;
}

std::span<const std::int64_t> Sampler::samples(std::int64_t step, int rank, int micro) {
  const std::int64_t epoch = step / steps_per_epoch();
  if (epoch != epoch_) order_epoch(epoch);
  const Share own = share(step, micro, rank);
  const std::int64_t start = step % steps_per_epoch() * options_.batch + own.first;
  return std::span(order_).subspan(static_cast<std::size_t>(start),
                                   static_cast<std::size_t>(own.count));
}

// Fisher and Yates' shuffle; a 64-bit draw modulo the count is biased by less than count / 2^64.
void Sampler::order_epoch(std::int64_t epoch) {
  order_.resize(static_cast<std::size_t>(options_.count));
  std::iota(order_.begin(), order_.end(), std::int64_t{0});
  epoch_ = epoch;
  if (options_.order == Order::sequential) return;
  const std::uint64_t stream = kOrderStream + static_cast<std::uint64_t>(epoch);
  for (std::uint64_t i = order_.size() - 1; i > 0; --i) {
    std::swap(order_[i], order_[random_bits(options_.seed, stream, i) % (i + 1)]);
  }
}

}  // namespace plimsoll::trainer
