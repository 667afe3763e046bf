// Batches of one rank, assembled ahead of time by threads of their own.
//
// The caller lends the slots that batches are written to (the executor's input buffers): with
// loader threads one more than are held ready, since the last one given out is still in use.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/units.hpp"
#include "trainer/data/dataset.hpp"
#include "trainer/data/sampler.hpp"

namespace plimsoll::trainer {

// Where a batch goes: rows as floats (scaled as the data set says) or as tokens, and labels; room
// for the largest local batch.
struct InputSlot {
  float* x = nullptr;              // [batch, sample], or null when the samples are tokens
  std::int32_t* tokens = nullptr;  // [batch, positions], or null
  std::int32_t* labels = nullptr;  // [batch], or [batch, positions]
};

struct Batch {
  std::int64_t step = 0;
  std::int64_t count = 0;         // samples of this rank in this micro-batch, may be 0
  std::int64_t global_count = 0;  // of all ranks and micro-batches of the step
  std::int64_t first_sample = 0;  // place of this rank's first one in the global batch
  int slot = 0;
  int micro = 0;       // which micro-batch of the step
  int loader = -1;     // the thread that assembled it, -1: the caller's
  Seconds begin, end;  // of assembling it, as sys::now() tells
};

struct LoaderOptions {
  int rank = 0;
  int workers = 1;  // 0: next() assembles the batch itself
  int prefetch = 2;
  std::int64_t first_step = 0, steps = 0;
  bool augment = false;  // images are moved and mirrored (image.hpp)
};

// How many slots a loader needs.
[[nodiscard]] int slots_needed(int workers, int prefetch);

class Loader {
 public:
  // `data` and the slots outlive the loader.
  Loader(const Dataset& data, const SamplerOptions& sampler, const LoaderOptions& options,
         std::vector<InputSlot> slots);
  ~Loader();  // ends and joins its threads, whatever they are doing
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch, in order of steps and micro-batches; the slot given out before is free for
  // others from now on. What went wrong in a loader thread is thrown here.
  [[nodiscard]] Batch next();

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace plimsoll::trainer
