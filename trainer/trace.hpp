// What a rank keeps for a timeline while it trains. Off, it is a null pointer and costs nothing.

#pragma once

#include <string>
#include <vector>

#include "reports/trace.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/strategy/strategy.hpp"

namespace plimsoll::trainer {

// Tracks: "compute" (the steps, and in them what the training thread does), "communication" and
// "communication hidden" (sums on their way while the rank waits, and while it computes), and one
// for each loader thread.
class TraceRecorder {
 public:
  explicit TraceRecorder(int rank) : rank_(rank) {}

  // A micro-batch: waited for from `waited` to `loaded`, then worked on as the timeline says.
  void micro_batch(const Batch& batch, Seconds waited, Seconds loaded, const StepTimeline& timeline,
                   bool last);
  void step(std::int64_t step, Seconds begin, Seconds end);
  void aside(const char* name, std::int64_t step, Seconds begin, Seconds end);

  [[nodiscard]] bool cut() const { return cut_; }
  // Enclosing slices before those inside; times are those of sys::now().
  [[nodiscard]] std::vector<reports::TraceSlice> take() &&;

 private:
  void add(const std::string& track, std::string name, std::int64_t step, Seconds begin,
           Seconds end);
  void communication(const StepTimeline& timeline, std::int64_t step);

  int rank_;
  bool cut_ = false;
  std::vector<reports::TraceSlice> slices_;
};

}  // namespace plimsoll::trainer
