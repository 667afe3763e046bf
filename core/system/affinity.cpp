// Affinity masks of any size.

#include "core/system/affinity.hpp"

#include <sched.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "core/error.hpp"

namespace plimsoll::sys {
namespace {

constexpr int kMostCpus = 1 << 20;

struct FreeMask {
  void operator()(cpu_set_t* mask) const { CPU_FREE(mask); }
};
using Mask = std::unique_ptr<cpu_set_t, FreeMask>;

Mask make_mask(int cpus) {
  Mask mask(CPU_ALLOC(static_cast<std::size_t>(cpus)));
  expects(mask != nullptr, "affinity: no memory for a CPU mask");
  CPU_ZERO_S(CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus)), mask.get());
  return mask;
}

}  // namespace

CpuSet affinity() {
  // The kernel answers EINVAL while the mask is smaller than its own: grow until it fits.
  for (int cpus = 1024; cpus <= kMostCpus; cpus *= 2) {
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const Mask mask = make_mask(cpus);
    if (sched_getaffinity(0, bytes, mask.get()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<int> ids;
    for (int id = 0; id < static_cast<int>(bytes) * 8; ++id)
      if (CPU_ISSET_S(static_cast<std::size_t>(id), bytes, mask.get())) ids.push_back(id);
    return CpuSet(std::move(ids));
  }
  throw Error(std::string("cannot read the CPU affinity: ") + std::strerror(errno),
              "sched_getaffinity", "allow the call in the container's seccomp profile");
}

void pin(const CpuSet& cpus) {
  if (cpus.empty())
    throw Error("no CPU to pin to", "an empty CPU list", "give at least one usable CPU");
  const int size = cpus.last() + 1;
  const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(size));
  const Mask mask = make_mask(size);
  for (int id : cpus) CPU_SET_S(static_cast<std::size_t>(id), bytes, mask.get());
  if (sched_setaffinity(0, bytes, mask.get()) != 0) {
    throw Error("cannot pin to CPU " + format_cpulist(cpus) + ": " + std::strerror(errno),
                "usable now: " + format_cpulist(affinity()),
                "choose among the usable CPUs, or widen the cpuset");
  }
}

ScopedPin::ScopedPin(const CpuSet& cpus) : before_(affinity()) { pin(cpus); }

ScopedPin::~ScopedPin() {
  try {
    pin(before_);
  } catch (const Error&) {
    // The old CPUs went away meanwhile (hot-unplug, cpuset change): nothing better to restore.
  }
}

}  // namespace plimsoll::sys
