// The GPUs through the CUDA runtime, linked statically: the program starts where no driver is.

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "core/system/cuda.hpp"
#include "core/system/files.hpp"

namespace plimsoll::sys {
namespace {

std::string version_text(int version) {
  if (version <= 0) return "unknown";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string code_text(cudaError_t code) {
  return "code " + std::to_string(static_cast<int>(code)) + ", " +
         valid_utf8(cudaGetErrorString(code));
}

// Without any driver library the runtime answers as for a driver that is too old; only looking for
// the library tells the two apart.
bool driver_library_exists() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

void explain(cudaError_t code, CudaFacts& facts) {
  const std::string versions = "driver supports CUDA " + version_text(facts.driver_version) +
                               ", this build needs " + version_text(facts.runtime_version);
  const auto set = [&](CudaState state, std::string reason, std::string fix) {
    facts.state = state;
    facts.reason = std::move(reason);
    facts.fix = std::move(fix);
  };
  switch (code) {
    case cudaErrorInsufficientDriver:
      if (!driver_library_exists())
        return set(CudaState::no_driver_library, "libcuda.so.1 is not on this machine",
                   "install the NVIDIA driver; in a container, start it with GPU access");
      return set(CudaState::driver_too_old, versions + " (" + code_text(code) + ")",
                 "update the driver, or build with an older CUDA toolkit");
    case cudaErrorNoDevice:
      return set(CudaState::no_device, "the driver sees no GPU (" + code_text(code) + ")",
                 "check CUDA_VISIBLE_DEVICES, the container's devices and lspci");
    case cudaErrorSystemNotReady:
      return set(CudaState::not_ready, "the system is not ready (" + code_text(code) + ")",
                 "start the fabric manager service (nvidia-fabricmanager)");
    case cudaErrorSystemDriverMismatch:
      return set(CudaState::mismatch,
                 "driver library and kernel module differ (" + code_text(code) + ")",
                 "reload the kernel module or restart after the driver update");
    default:
      return set(CudaState::error, "the GPUs cannot be used (" + code_text(code) + ")",
                 "run nvidia-smi and look at the kernel log");
  }
}

CudaDevice describe(int id) {
  CudaDevice device;
  device.id = id;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, id) == cudaSuccess) {
    device.name = valid_utf8(properties.name);
    device.total_memory = Bytes(static_cast<double>(properties.totalGlobalMem));
    device.compute_major = properties.major;
    device.compute_minor = properties.minor;
  }
  std::size_t free_memory = 0, total = 0;
  if (cudaSetDevice(id) == cudaSuccess && cudaMemGetInfo(&free_memory, &total) == cudaSuccess)
    device.free_memory = Bytes(static_cast<double>(free_memory));
  return device;
}

}  // namespace

CudaFacts cuda_facts() {
  CudaFacts facts;
  if (cudaRuntimeGetVersion(&facts.runtime_version) != cudaSuccess) facts.runtime_version = 0;
  if (cudaDriverGetVersion(&facts.driver_version) != cudaSuccess) facts.driver_version = 0;
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) {
    explain(code, facts);  // the count means nothing after an error
  } else if (count == 0) {
    explain(cudaErrorNoDevice, facts);
  } else {
    facts.state = CudaState::ready;
    for (int id = 0; id < count; ++id) facts.devices.push_back(describe(id));
  }
  cudaGetLastError();  // later calls must not meet this error
  return facts;
}

}  // namespace plimsoll::sys
