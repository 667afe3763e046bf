// The GPUs of this machine, or exactly why there are none. Two sources implement this header:
// cuda_runtime.cpp (built with the CUDA toolkit, static runtime) and cuda_absent.cpp.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/units.hpp"

namespace plimsoll::sys {

enum class CudaState {
  ready,
  not_built,          // this build has no CUDA
  no_driver_library,  // libcuda.so.1 is not on this machine
  driver_too_old,     // for the runtime: both versions are told
  no_device,          // 100
  not_ready,          // 802: the switch fabric service is not up
  mismatch,           // 803: driver library and kernel module differ
  error,              // anything else
};
[[nodiscard]] std::string cuda_state_name(CudaState state);  // "driver too old", ...

struct CudaDevice {
  int id = 0;
  std::string name;
  Bytes total_memory, free_memory;
  int compute_major = 0, compute_minor = 0;
};

struct CudaFacts {
  CudaState state = CudaState::not_built;
  std::string reason;  // of every state but ready; with error code and versions
  std::string fix;
  int driver_version = 0;  // 13000 is 13.0; 0 unknown
  int runtime_version = 0;
  std::vector<CudaDevice> devices;  // only when ready
};
[[nodiscard]] CudaFacts cuda_facts();

// The management library (NVML), opened at run time. CUDA may work where it does not.
struct NvmlDevice {
  std::string name, uuid;
  Known<double> sm_clock_hz, memory_clock_hz, power_w, temperature_celsius;
  Known<std::int64_t> pcie_generation, pcie_width;
};
struct NvmlFacts {
  bool usable = false;
  std::string reason;  // when not usable
  std::string driver_version;
  std::vector<NvmlDevice> devices;
};
[[nodiscard]] NvmlFacts nvml_facts();

}  // namespace plimsoll::sys
