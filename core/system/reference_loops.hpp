// Short fixed loops that say how fast this machine is right now. Compared with the same loops at
// another moment they measure drift (neighbours, frequency); none is taken from a workload.
//
// One rule for whoever takes them (probes before, between and after their cases, the trainer before
// and after training): one pinned thread on every usable CPU, all at once, however few of them the
// measurement itself occupies. Loops on two CPUs share memory and clock, so they are slower than
// the same loops on one: only times of the same CPUs and the same work may be divided by each
// other. ReferenceTime::source says both, and whoever compares times compares sources first.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/system/cpulist.hpp"
#include "core/units.hpp"

namespace plimsoll::sys {

struct ReferenceTime {
  std::string name;     // "reference.compute_f32.time", "reference.compute_bf16.time",
                        // "reference.memory.time"
  Known<Seconds> time;  // per fixed amount of work; no value: this machine cannot, and why
  std::string source;   // instruction path, amount of work and the CPUs: equal, or not comparable
};

// Owns what the loops need (the streaming buffers), so that sampling allocates nothing.
class ReferenceLoops {
 public:
  // On every usable CPU of this process: the rule above. Buffers are sized to exceed the caches and
  // to fit into memory.
  ReferenceLoops();
  // On other CPUs, for tests: such times are comparable among themselves only.
  explicit ReferenceLoops(const CpuSet& cpus);
  ~ReferenceLoops();
  ReferenceLoops(ReferenceLoops&&) noexcept;
  ReferenceLoops& operator=(ReferenceLoops&&) noexcept;

  // Runs each loop once (about 0.1 to 0.2 s together); a time is the mean over the CPUs. Always the
  // same names in the same order.
  [[nodiscard]] std::vector<ReferenceTime> sample();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One metric per loop from any number of samples (of the same ReferenceLoops): median and samples.
[[nodiscard]] std::vector<Metric> reference_metrics(
    const std::vector<std::vector<ReferenceTime>>& samples);

}  // namespace plimsoll::sys
