// Slices from the times that the step loop and the strategy took anyway.

#include "trainer/trace.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll::trainer {
namespace {

constexpr std::size_t kMostSlices = 200'000;  // of a rank: some 25 MB of file

}  // namespace

void TraceRecorder::add(const std::string& track, std::string name, std::int64_t step,
                        Seconds begin, Seconds end) {
  if (end <= begin) return;
  if (slices_.size() >= kMostSlices) {
    cut_ = true;
    return;
  }
  slices_.push_back({.worker = rank_,
                     .track = track,
                     .name = std::move(name),
                     .begin = begin,
                     .end = end,
                     .step = step});
}

void TraceRecorder::micro_batch(const Batch& batch, Seconds waited, Seconds loaded,
                                const StepTimeline& timeline, bool last) {
  const std::int64_t step = batch.step;
  add("compute", "input", step, waited, loaded);
  add("compute", "forward", step, timeline.begin, timeline.backward_begin);
  add("compute", "backward", step, timeline.backward_begin, timeline.backward_end);
  if (batch.loader >= 0) {
    add("loader " + std::to_string(batch.loader), "batch", step, batch.begin, batch.end);
  }
  if (!last) return;
  add("compute", "communication_exposed", step, timeline.backward_end, timeline.communication_end);
  add("compute", "optimizer", step, timeline.communication_end, timeline.end);
  communication(timeline, step);
}

// Sums are worked on one after the other, so each begins when it was posted and the one before it
// was done. What lies before the end of backward is hidden behind it.
void TraceRecorder::communication(const StepTimeline& timeline, std::int64_t step) {
  Seconds before;
  for (std::size_t b = 0; b < timeline.buckets.size(); ++b) {
    const BucketTimes& bucket = timeline.buckets[b];
    if (bucket.finished == Seconds(0)) continue;  // a rank alone sends nothing
    const Seconds begin = std::max(bucket.posted, before);
    const Seconds middle =
        std::clamp(timeline.backward_end, begin, std::max(begin, bucket.finished));
    const std::string name = "bucket " + std::to_string(b);
    add("communication hidden", name, step, begin, middle);
    add("communication", name, step, middle, bucket.finished);
    before = bucket.finished;
  }
}

void TraceRecorder::step(std::int64_t step, Seconds begin, Seconds end) {
  add("compute", "step " + std::to_string(step), step, begin, end);
}

void TraceRecorder::aside(const char* name, std::int64_t step, Seconds begin, Seconds end) {
  add("compute", name, step, begin, end);
}

std::vector<reports::TraceSlice> TraceRecorder::take() && {
  std::ranges::stable_sort(slices_, [](const auto& a, const auto& b) {
    return a.begin < b.begin || (a.begin == b.begin && a.end > b.end);
  });
  return std::move(slices_);
}

}  // namespace plimsoll::trainer
