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
  expects(options.count >= 1 && options.batch >= 1 && options.workers >= 1,
          "a sampler has samples, a batch and workers");
}

std::int64_t Sampler::steps_per_epoch() const {
  return (options_.count + options_.batch - 1) / options_.batch;
}

std::int64_t Sampler::global_batch(std::int64_t step) const {
  const std::int64_t start = step % steps_per_epoch() * options_.batch;
  return std::min(options_.batch, options_.count - start);
}

std::int64_t Sampler::local_batch(std::int64_t step, int rank) const {
  return shares(global_batch(step), options_.workers)[static_cast<std::size_t>(rank)];
}

std::vector<std::int64_t> Sampler::local_batches(int rank) const {
  std::vector<std::int64_t> sizes{local_batch(0, rank)};
  const std::int64_t last = local_batch(steps_per_epoch() - 1, rank);
  if (last != sizes.front()) sizes.push_back(last);
  return sizes;
}

std::span<const std::int64_t> Sampler::samples(std::int64_t step, int rank) {
  const std::int64_t epoch = step / steps_per_epoch();
  if (epoch != epoch_) order_epoch(epoch);
  const std::vector<std::int64_t> share = shares(global_batch(step), options_.workers);
  std::int64_t start = step % steps_per_epoch() * options_.batch;
  for (int r = 0; r < rank; ++r) start += share[static_cast<std::size_t>(r)];
  return std::span(order_).subspan(static_cast<std::size_t>(start),
                                   static_cast<std::size_t>(share[static_cast<std::size_t>(rank)]));
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
