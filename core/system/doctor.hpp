// What would spoil results on this machine: a visible table of checks over facts gathered once.
// Every check has an id that `plimsoll explain` knows, and says its effect and its fix.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/record.hpp"
#include "core/system/cgroup.hpp"
#include "core/system/clock.hpp"
#include "core/system/cuda.hpp"
#include "core/system/files.hpp"
#include "core/system/network.hpp"
#include "core/system/topology.hpp"

namespace plimsoll::sys {

struct Facts {
  std::string root;
  Topology topology;
  Cgroup cgroup;
  Environment environment;
  ClockFacts clock;
  CudaFacts cuda;
  NvmlFacts nvml;
  std::vector<NetworkInterface> network;
};
[[nodiscard]] Facts gather_facts(const std::string& root = fs_root());

struct Check {
  std::string_view id;        // "cpu.governor"
  std::string_view question;  // what it looks at, one sentence for `plimsoll explain`
  std::string_view effect;    // what it does to results
  std::optional<Finding> (*look)(const Facts& facts);
};
[[nodiscard]] std::span<const Check> checks();

// The findings of all checks (or of the one named; Error (usage) when unknown), errors first, plus
// those met while the facts were gathered.
[[nodiscard]] std::vector<Finding> diagnose(const Facts& facts, const std::string& only = {});

}  // namespace plimsoll::sys
