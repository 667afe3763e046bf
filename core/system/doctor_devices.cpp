// Checks of storage, network, GPUs and of this build itself.

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/system/buffer.hpp"
#include "core/system/doctor_checks.hpp"
#include "core/system/parts.hpp"
#include "core/system/provenance.hpp"

namespace plimsoll::sys {

std::optional<Finding> check_direct_io(const Facts&) {
  std::error_code error;
  const std::string folder = std::filesystem::temp_directory_path(error).string();
  // An unnamed file: nothing is left behind whatever happens.
  const int file =
      open(error ? "/tmp" : folder.c_str(), O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
  if (file >= 0) {
    close(file);
    return std::nullopt;
  }
  const std::string why = std::strerror(errno);
  return found(Severity::info, "direct I/O is refused in " + folder + ": " + why,
               "point storage probes (--dir) to a folder on a real file system");
}

std::optional<Finding> check_io_uring(const Facts&) {
#ifdef __NR_io_uring_setup
  std::array<unsigned char, 256> parameters{};  // larger than the kernel's io_uring_params
  const long ring = syscall(__NR_io_uring_setup, 1, parameters.data());
  if (ring >= 0) {
    close(static_cast<int>(ring));
    return std::nullopt;
  }
  const std::string why = std::strerror(errno);
#else
  const std::string why = "unknown to this system's headers";
#endif
  return found(Severity::info, "io_uring is refused: " + why,
               "allow it in the container's seccomp profile, or sysctl kernel.io_uring_disabled=0");
}

std::optional<Finding> check_link_speed(const Facts& facts) {
  std::string text;
  for (const NetworkInterface& interface : facts.network)
    if (!interface.speed.value && interface.name != "lo" && interface.state != "down")
      text += (text.empty() ? "" : "; ") + interface.name + ": " + interface.speed.reason;
  if (text.empty()) return std::nullopt;
  return found(Severity::info, "link speed unknown: " + text,
               "measure it with the network probes, or give the link's speed by hand");
}

std::optional<Finding> check_mpi_root(const Facts&) {
  bool built = false;
  for (const Part& part : parts()) built = built || (part.name == "MPI" && part.state == "on");
  if (!built || geteuid() != 0 || std::getenv("OMPI_ALLOW_RUN_AS_ROOT") != nullptr)
    return std::nullopt;
  return found(Severity::info, "running as root, which mpirun refuses",
               "use another user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and "
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; --comm threads needs neither");
}

std::optional<Finding> check_parts(const Facts&) {
  std::string text, fix;
  for (const Part& part : parts()) {
    if (part.state == "on") continue;
    text += (text.empty() ? "" : "; ") + std::string(part.name) + " is " + std::string(part.state) +
            ": no " + std::string(part.loses);
    fix += (fix.empty() ? "" : "; ") + std::string(part.fix);
  }
  if (text.empty()) return std::nullopt;
  return found(Severity::info, text, fix);
}

std::optional<Finding> check_build_type(const Facts&) {
  const Tool tool = describe_tool();
  const bool slow = tool.build_type == "Debug" || tool.flags.find("-O0") != std::string::npos ||
                    tool.flags.find("-fsanitize") != std::string::npos;
  if (!slow) return std::nullopt;
  return found(Severity::warning, "built as " + tool.build_type + " with \"" + tool.flags + "\"",
               "configure with -DCMAKE_BUILD_TYPE=Release");
}

std::optional<Finding> check_gpu_driver(const Facts& facts) {
  Severity severity = Severity::error;
  switch (facts.cuda.state) {
    case CudaState::ready:
    case CudaState::not_built:  // said by build.parts
      return std::nullopt;
    case CudaState::no_driver_library:
      severity = Severity::info;
      break;
    case CudaState::no_device:
      severity = Severity::warning;
      break;
    default:
      break;
  }
  return found(severity, cuda_state_name(facts.cuda.state) + ": " + facts.cuda.reason,
               facts.cuda.fix);
}

std::optional<Finding> check_gpu_management(const Facts& facts) {
  if (facts.cuda.state != CudaState::ready && facts.nvml.reason.find("nvml") == std::string::npos)
    return std::nullopt;  // no GPU software at all: one finding is enough
  if (facts.nvml.usable) return std::nullopt;
  return found(Severity::warning, "the GPU management library cannot be used: " + facts.nvml.reason,
               "restart after a driver update; GPU probes go on without it");
}

std::optional<Finding> check_gpu_memory(const Facts& facts) {
  for (const CudaDevice& device : facts.cuda.devices)
    if (device.free_memory < 0.8 * device.total_memory)
      return found(Severity::warning,
                   "GPU " + std::to_string(device.id) + " has " + format_bytes(device.free_memory) +
                       " of " + format_bytes(device.total_memory) + " free",
                   "end the other process (nvidia-smi lists it); sizes follow the free memory");
  return std::nullopt;
}

}  // namespace plimsoll::sys
