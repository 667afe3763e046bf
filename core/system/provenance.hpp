// Where a report comes from: this host, this build, this command. No name is resolved, nothing
// beyond an allow-list of variables is kept, and what cannot be read is absent with a reason.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/system/files.hpp"
#include "core/system/topology.hpp"

namespace plimsoll::sys {

// Name and version of what a program links beyond this library, which the program alone knows:
// {"onednn", "2.6.3"}.
using Libraries = std::map<std::string, std::string>;

[[nodiscard]] Environment describe_environment(const std::string& root = fs_root(),
                                               const Libraries& more = {});
[[nodiscard]] Environment describe_environment(const std::string& root, const Topology& topology,
                                               const Cgroup& cgroup);
[[nodiscard]] Tool describe_tool();
[[nodiscard]] Command describe_command(std::vector<std::string> argv,
                                       std::optional<std::int64_t> seed = {});

// Instruction sets of this CPU that kernels may use ("avx2", "avx512f", "avx512_bf16", "amx_bf16",
// "asimd", "bf16", ...): asked from the CPU and the operating system at run time.
[[nodiscard]] std::vector<std::string> instruction_sets();
[[nodiscard]] bool has_instruction_set(const std::string& name);

// What the hypervisor calls itself ("KVMKVMKVM"); empty on real hardware and where CPUs do not
// tell.
[[nodiscard]] std::string hypervisor_signature();

// Share of CPU time that the hypervisor gave to others since boot; nothing when not told.
[[nodiscard]] std::optional<double> steal_ratio(const std::string& root = fs_root());

}  // namespace plimsoll::sys
