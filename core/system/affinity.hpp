// Pins the calling thread to CPUs. Masks grow with the machine: no limit at 1024 CPUs.

#pragma once

#include "core/system/cpulist.hpp"

namespace plimsoll::sys {

// The CPUs the calling thread may run on.
[[nodiscard]] CpuSet affinity();

// Error naming the CPUs asked for and those allowed when the kernel refuses or the set is empty.
void pin(const CpuSet& cpus);
inline void pin(int cpu) { pin(CpuSet{cpu}); }

// Pins for the life of the object and then restores what was before, of the same thread.
class ScopedPin {
 public:
  explicit ScopedPin(const CpuSet& cpus);
  ~ScopedPin();
  ScopedPin(const ScopedPin&) = delete;
  ScopedPin& operator=(const ScopedPin&) = delete;

 private:
  CpuSet before_;
};

}  // namespace plimsoll::sys
