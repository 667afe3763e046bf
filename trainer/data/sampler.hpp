// Which samples a rank trains on in a step: a pure function of seed and step.
//
// Each epoch is a permutation of all samples derived from (seed, epoch) and cut into global
// batches; the last one is as short as it must be: no sample is lost or repeated. Inside a batch
// the ranks take consecutive runs by shares(), so what a step trains on does not depend on how many
// ranks there are; a rank may get none.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll::trainer {

enum class Order { shuffled, sequential };

struct SamplerOptions {
  std::int64_t count = 0;  // samples in the data set
  std::int64_t batch = 0;  // global
  int workers = 1;
  int accumulate = 1;  // micro-batches a step
  std::uint64_t seed = 0;
  Order order = Order::shuffled;
};

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);

  [[nodiscard]] std::int64_t steps_per_epoch() const;
  [[nodiscard]] std::int64_t global_batch(std::int64_t step) const;  // samples of all ranks
  // What a rank has of a micro-batch, and which sample of the global batch is its first.
  struct Share {
    std::int64_t first = 0, count = 0;
  };
  [[nodiscard]] Share share(std::int64_t step, int micro, int rank) const;
  [[nodiscard]] std::int64_t local_batch(std::int64_t step, int rank) const;  // of the step
  // The distinct sizes of micro-batches that a rank meets, those of a whole batch first.
  [[nodiscard]] std::vector<std::int64_t> local_batches(int rank) const;

  // Sample numbers of a rank in a step, counted from 0 over all epochs. Keeps the order of the
  // epoch asked for last, so one object serves one thread.
  [[nodiscard]] std::span<const std::int64_t> samples(std::int64_t step, int rank, int micro = 0);

 private:
  void order_epoch(std::int64_t epoch);

  SamplerOptions options_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> order_;
};

}  // namespace plimsoll::trainer
