// The parts of cuda.hpp that need no toolkit: names of states, and NVML opened at run time.

#include <dlfcn.h>

#include <array>
#include <memory>

#include "core/system/cuda.hpp"
#include "core/system/files.hpp"

namespace plimsoll::sys {
namespace {

// The few functions and constants of the management library's stable C interface that are used
// here; its header need not be there to build.
using Device = void*;
using Count = int (*)(unsigned*);
using Handle = int (*)(unsigned, Device*);
using Text = int (*)(Device, char*, unsigned);
using Number = int (*)(Device, unsigned*);
using Selected = int (*)(Device, int, unsigned*);
using SystemText = int (*)(char*, unsigned);
using Nothing = int (*)();
using ErrorText = const char* (*)(int);
constexpr int kClockSm = 1, kClockMemory = 2, kTemperatureGpu = 0;

struct Close {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, Close>;

template <class Function>
Function find(const Library& library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library.get(), name));
}

std::string failure(const Library& library, const char* call, int code) {
  const auto text = find<ErrorText>(library, "nvmlErrorString");
  const char* words = text != nullptr ? text(code) : nullptr;
  return std::string(call) + " gave " + std::to_string(code) +
         (words != nullptr ? " (" + valid_utf8(words) + ")" : "");
}

template <class Result, class Function, class... Selector>
Known<Result> ask(const Library& library, const char* name, Device device, double scale,
                  Selector... selector) {
  const auto function = find<Function>(library, name);
  if (function == nullptr) return {{}, std::string(name) + " is not in this library"};
  unsigned value = 0;
  const int code = function(device, selector..., &value);
  if (code != 0) return {{}, failure(library, name, code)};
  return {static_cast<Result>(static_cast<double>(value) * scale), ""};
}

NvmlDevice describe(const Library& library, Device device) {
  NvmlDevice result;
  std::array<char, 128> text{};
  const auto name = find<Text>(library, "nvmlDeviceGetName");
  if (name != nullptr && name(device, text.data(), text.size()) == 0)
    result.name = valid_utf8(text.data());
  const auto uuid = find<Text>(library, "nvmlDeviceGetUUID");
  if (uuid != nullptr && uuid(device, text.data(), text.size()) == 0)
    result.uuid = valid_utf8(text.data());
  result.sm_clock_hz =
      ask<double, Selected>(library, "nvmlDeviceGetClockInfo", device, 1e6, kClockSm);
  result.memory_clock_hz =
      ask<double, Selected>(library, "nvmlDeviceGetClockInfo", device, 1e6, kClockMemory);
  result.power_w = ask<double, Number>(library, "nvmlDeviceGetPowerUsage", device, 1e-3);
  result.temperature_celsius =
      ask<double, Selected>(library, "nvmlDeviceGetTemperature", device, 1, kTemperatureGpu);
  result.pcie_generation =
      ask<std::int64_t, Number>(library, "nvmlDeviceGetCurrPcieLinkGeneration", device, 1);
  result.pcie_width =
      ask<std::int64_t, Number>(library, "nvmlDeviceGetCurrPcieLinkWidth", device, 1);
  return result;
}

}  // namespace

std::string cuda_state_name(CudaState state) {
  switch (state) {
    case CudaState::ready:
      return "ready";
    case CudaState::not_built:
      return "built without CUDA";
    case CudaState::no_driver_library:
      return "no driver library";
    case CudaState::driver_too_old:
      return "driver too old";
    case CudaState::no_device:
      return "no device";
    case CudaState::not_ready:
      return "not ready";
    case CudaState::mismatch:
      return "driver mismatch";
    case CudaState::error:
      break;
  }
  return "error";
}

NvmlFacts nvml_facts() {
  NvmlFacts facts;
  const Library library(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) {
    facts.reason = "libnvidia-ml.so.1 is not on this machine";
    return facts;
  }
  const auto initialise = find<Nothing>(library, "nvmlInit_v2");
  const auto shut_down = find<Nothing>(library, "nvmlShutdown");
  const auto count = find<Count>(library, "nvmlDeviceGetCount_v2");
  const auto handle = find<Handle>(library, "nvmlDeviceGetHandleByIndex_v2");
  if (initialise == nullptr || count == nullptr) {
    facts.reason = "libnvidia-ml.so.1 lacks nvmlInit_v2 or nvmlDeviceGetCount_v2";
    return facts;
  }
  if (const int code = initialise(); code != 0) {
    facts.reason = failure(library, "nvmlInit_v2", code);
    return facts;
  }
  std::array<char, 96> text{};
  const auto version = find<SystemText>(library, "nvmlSystemGetDriverVersion");
  if (version != nullptr && version(text.data(), text.size()) == 0)
    facts.driver_version = valid_utf8(text.data());
  unsigned devices = 0;
  if (const int code = count(&devices); code != 0) {
    facts.reason = failure(library, "nvmlDeviceGetCount_v2", code);
  } else {
    facts.usable = true;
    for (unsigned i = 0; handle != nullptr && i < devices; ++i) {
      Device device = nullptr;
      if (handle(i, &device) == 0) facts.devices.push_back(describe(library, device));
    }
  }
  if (shut_down != nullptr) shut_down();
  return facts;
}

}  // namespace plimsoll::sys
