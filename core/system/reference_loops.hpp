// Short fixed loops that say how fast this machine is right now. Compared with the same loops at
// another moment they measure drift (neighbours, frequency); none is taken from a workload.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/units.hpp"

namespace plimsoll::sys {

struct ReferenceTime {
  std::string name;     // "reference.compute_f32.time", "reference.compute_bf16.time",
                        // "reference.memory.time"
  Known<Seconds> time;  // per fixed amount of work; no value: this machine cannot, and why
  std::string source;   // instruction path and amount of work
};

// Owns what the loops need (the streaming buffers), so that sampling allocates nothing.
class ReferenceLoops {
 public:
  // One thread per CPU in `cpus` runs the loops at the same time, pinned; empty: the calling
  // thread alone, where it is. Buffers are sized to exceed the caches and to fit into memory.
  explicit ReferenceLoops(std::vector<int> cpus = {});
  ~ReferenceLoops();
  ReferenceLoops(ReferenceLoops&&) noexcept;
  ReferenceLoops& operator=(ReferenceLoops&&) noexcept;

  // Runs each loop once (about 0.1 to 0.2 s together). With several CPUs a time is the mean over
  // them. Always the same names in the same order.
  [[nodiscard]] std::vector<ReferenceTime> sample();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One metric per loop from any number of samples (of the same ReferenceLoops): median and samples.
[[nodiscard]] std::vector<Metric> reference_metrics(
    const std::vector<std::vector<ReferenceTime>>& samples);

}  // namespace plimsoll::sys
