// A ring of slots: loader threads fill them in any order, next() takes them in the order of steps.

#include "trainer/data/loader.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "core/error.hpp"
#include "core/system/clock.hpp"
#include "trainer/backend/backend.hpp"
#include "trainer/data/image.hpp"

namespace plimsoll::trainer {
namespace {

// Fills a slot with one step's samples; each thread has its own, for the sampler keeps an order.
class Assembler {
 public:
  Assembler(const Dataset& data, const SamplerOptions& sampler, const LoaderOptions& options,
            int loader)
      : data_(data),
        options_(options),
        seed_(sampler.seed),
        accumulate_(sampler.accumulate),
        loader_(loader),
        sampler_(sampler) {
    if (options.augment && !fits(data.stored, data.sample)) {
      throw usage_error("only images (height x width x channels) can be moved and mirrored",
                        "--augment", "leave it out, or use a workload that takes images");
    }
  }

  // `count` counts micro-batches over all steps.
  Batch assemble(std::int64_t count, int slot, const InputSlot& into) {
    const Seconds begin = sys::now();
    const std::int64_t step = count / accumulate_;
    const int micro = static_cast<int>(count % accumulate_);
    const std::span<const std::int64_t> samples = sampler_.samples(step, options_.rank, micro);
    for (const std::int64_t sample : samples) {
      if (sample < data_.count()) continue;
      throw Error("sample " + std::to_string(sample) + " of " + std::to_string(data_.count()),
                  data_.source, "the data set is shorter than the sampler was told");
    }
    const std::int64_t first = sampler_.share(step, micro, options_.rank).first;
    if (data_.windows) {
      cut(samples, step / sampler_.steps_per_epoch(), into);
    } else {
      copy_labels(samples, into);
      if (options_.augment || data_.stored != data_.sample) {
        place(samples, step, first, into);
      } else if (!samples.empty()) {
        gather_u8(into.x, data_.rows.data(), data_.row_bytes, samples.data(), std::ssize(samples),
                  data_.scale, data_.shift);
      }
    }
    return {.step = step,
            .count = std::ssize(samples),
            .global_count = sampler_.global_batch(step),
            .first_sample = first,
            .slot = slot,
            .micro = micro,
            .loader = loader_,
            .begin = begin,
            .end = sys::now()};
  }

 private:
  using Samples = std::span<const std::int64_t>;

  void copy_labels(Samples samples, const InputSlot& into) const {
    const std::int64_t each = data_.labels_per_sample;
    std::int32_t* label = into.labels;
    for (const std::int64_t sample : samples) {
      label = std::copy_n(data_.labels.data() + sample * each, each, label);
    }
  }
  void place(Samples samples, std::int64_t step, std::int64_t first, const InputSlot& into) const {
    const std::int64_t size = elements(data_.sample);
    for (std::int64_t i = 0; i < std::ssize(samples); ++i) {
      const Change change = options_.augment ? change_of(seed_, step, first + i) : Change{};
      place_image(into.x + i * size, data_.sample,
                  data_.rows.data() + samples[static_cast<std::size_t>(i)] * data_.row_bytes,
                  data_.stored, change, data_.scale, data_.shift);
    }
  }
  // Windows of a text; a sample with one label has that of its last position.
  void cut(Samples samples, std::int64_t epoch, const InputSlot& into) const {
    const std::int64_t positions = data_.windows->positions;
    const std::int64_t offset = data_.windows->offset(seed_, epoch);
    const std::int64_t each = data_.labels_per_sample;
    std::int32_t* token = into.tokens;
    std::int32_t* label = into.labels;
    for (const std::int64_t sample : samples) {
      const std::uint8_t* const begin = data_.rows.data() + offset + sample * positions;
      token = std::copy_n(begin, positions, token);
      label = std::copy_n(begin + positions + 1 - each, each, label);
    }
  }

  const Dataset& data_;
  LoaderOptions options_;
  std::uint64_t seed_;
  int accumulate_, loader_;
  Sampler sampler_;
};

}  // namespace

int slots_needed(int workers, int prefetch) { return workers == 0 ? 1 : std::max(prefetch, 1) + 1; }

struct Loader::Shared {
  const Dataset& data;
  SamplerOptions sampler;
  LoaderOptions options;
  std::vector<InputSlot> slots;
  Assembler own;  // for next() when there are no threads

  std::mutex mutex;
  std::condition_variable filled, freed;
  struct Filled {
    bool ready = false;
    Batch batch;
    std::exception_ptr error;
  };
  std::vector<Filled> ready;  // per slot; place k uses slot (k - first) mod slots
  // Places are micro-batches, counted over all steps.
  std::int64_t next_to_fill;  // those that a thread has taken up
  std::int64_t next_to_give;  // those that next() has given out
  bool stop = false;
  std::vector<std::thread> threads;

  [[nodiscard]] std::int64_t first() const { return options.first_step * sampler.accumulate; }
  [[nodiscard]] std::int64_t end() const { return first() + options.steps * sampler.accumulate; }
  [[nodiscard]] std::size_t slot_of(std::int64_t place) const {
    return static_cast<std::size_t>(place - first()) % slots.size();
  }
  void work(int loader);
  Batch take();
};

Loader::Loader(const Dataset& data, const SamplerOptions& sampler, const LoaderOptions& options,
               std::vector<InputSlot> slots)
    : shared_(new Shared{.data = data,
                         .sampler = sampler,
                         .options = options,
                         .slots = std::move(slots),
                         .own = Assembler(data, sampler, options, -1),
                         .mutex = {},
                         .filled = {},
                         .freed = {},
                         .ready = {},
                         .next_to_fill = options.first_step * sampler.accumulate,
                         .next_to_give = options.first_step * sampler.accumulate,
                         .threads = {}}) {
  expects(std::ssize(shared_->slots) >= slots_needed(options.workers, options.prefetch),
          "a loader is lent enough slots");
  shared_->ready.resize(shared_->slots.size());
  try {
    for (int i = 0; i < options.workers; ++i) {
      shared_->threads.emplace_back([shared = shared_.get(), i] { shared->work(i); });
    }
  } catch (const std::system_error& error) {
    if (shared_->threads.empty()) {
      throw Error(std::string("cannot start a loader thread: ") + error.what(), "--loader-workers",
                  "use --loader-workers 0, or raise the limit of processes (ulimit -u)");
    }  // else: those that run do all the work
  }
}

Loader::~Loader() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
  }
  shared_->freed.notify_all();
  for (std::thread& thread : shared_->threads) thread.join();
}

void Loader::Shared::work(int loader) {
  Assembler assembler(data, sampler, options, loader);
  std::unique_lock lock(mutex);
  while (true) {
    // One slot is in the consumer's hands: that of the place given out last.
    const auto may_fill = [&] { return next_to_fill < next_to_give - 1 + std::ssize(slots); };
    freed.wait(lock, [&] { return stop || next_to_fill == end() || may_fill(); });
    if (stop || next_to_fill == end()) return;
    const std::int64_t place = next_to_fill++;
    const std::size_t slot = slot_of(place);
    lock.unlock();
    Filled result;
    try {
      result.batch = assembler.assemble(place, static_cast<int>(slot), slots[slot]);
    } catch (...) {
      result.error = std::current_exception();
    }
    result.ready = true;
    lock.lock();
    ready[slot] = result;
    filled.notify_one();
  }
}

Batch Loader::Shared::take() {
  std::unique_lock lock(mutex);
  Filled& entry = ready[slot_of(next_to_give)];
  ++next_to_give;  // the slot given out before is free from here on
  freed.notify_all();
  filled.wait(lock, [&] { return entry.ready; });
  entry.ready = false;
  if (entry.error) std::rethrow_exception(entry.error);
  return entry.batch;
}

Batch Loader::next() {
  Shared& shared = *shared_;
  expects(shared.next_to_give < shared.end(), "a loader is asked for as many steps as it was told");
  if (!shared.threads.empty()) return shared.take();
  const std::int64_t place = shared.next_to_give++;
  return shared.own.assemble(place, 0, shared.slots[0]);
}

}  // namespace plimsoll::trainer
