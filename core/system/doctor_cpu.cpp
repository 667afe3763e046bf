// Checks of processors, their time and the clock.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/system/doctor_checks.hpp"

namespace plimsoll::sys {
namespace {

// "12.3" whatever the locale; for messages.
std::string decimal(double value) {
  const auto tenths = static_cast<long>(std::lround(value * 10));
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string hundredths(double value) {
  const auto rounded = static_cast<long>(std::lround(value * 100));
  const std::string rest = std::to_string(rounded % 100);
  return std::to_string(rounded / 100) + (rest.size() < 2 ? ".0" : ".") + rest;
}

}  // namespace

std::optional<Finding> check_governor(const Facts& facts) {
  const Known<std::string>& governor = facts.environment.governor;
  if (!governor.value || *governor.value == "performance") return std::nullopt;
  return found(Severity::warning, "frequency governor: " + *governor.value,
               "cpupower frequency-set -g performance");
}

std::optional<Finding> check_frequency(const Facts& facts) {
  const Known<double>& frequency = facts.environment.frequency_hz;
  if (frequency.value) return std::nullopt;
  return found(Severity::info, "processor frequency unknown: " + frequency.reason,
               "none needed: ceilings are measured, not computed from a frequency");
}

std::optional<Finding> check_boost(const Facts& facts) {
  const std::string folder = "/sys/devices/system/cpu/";
  const bool on = read_integer(facts.root, folder + "cpufreq/boost") == 1 ||
                  read_integer(facts.root, folder + "intel_pstate/no_turbo") == 0;
  if (!on) return std::nullopt;
  return found(Severity::info, "frequency boost is on",
               "for steady figures: echo 0 > " + folder + "cpufreq/boost, or " + folder +
                   "intel_pstate/no_turbo = 1");
}

std::optional<Finding> check_siblings(const Facts& facts) {
  const auto& cores = facts.topology.cores;
  const bool shared = std::any_of(cores.begin(), cores.end(), [&](const Core& core) {
    return both(core.cpus, facts.topology.usable).count() > 1;
  });
  if (!shared) return std::nullopt;
  return found(Severity::info,
               std::to_string(facts.topology.online.count()) + " hardware threads on " +
                   std::to_string(cores.size()) + " cores",
               "use one thread a core; CPUs are handed out core by core");
}

std::optional<Finding> check_offline(const Facts& facts) {
  const CpuSet offline = without(facts.topology.present, facts.topology.online);
  if (offline.empty()) return std::nullopt;
  return found(Severity::info, "offline CPUs: " + format_cpulist(offline),
               "bring them online if they should count");
}

std::optional<Finding> check_usable(const Facts& facts) {
  const Topology& topology = facts.topology;
  if (topology.usable.count() >= topology.online.count()) return std::nullopt;
  return found(Severity::info,
               "this process may use CPUs " + format_cpulist(topology.usable) + " of " +
                   format_cpulist(topology.online),
               "widen the affinity mask (taskset) or the container's cpuset");
}

std::optional<Finding> check_quota(const Facts& facts) {
  const Known<double>& quota = facts.cgroup.cpu_quota;
  if (!quota.value || *quota.value >= facts.topology.usable.count()) return std::nullopt;
  const int threads = default_threads(facts.topology.usable.count(), quota);
  return found(Severity::warning,
               "CPU time is limited to " + hundredths(*quota.value) + " CPUs (" + quota.reason +
                   "); default threads: " + std::to_string(threads),
               "raise the container's CPU limit, or accept results of this limit");
}

std::optional<Finding> check_throttled(const Facts& facts) {
  const auto& throttling = facts.cgroup.throttling;
  if (!throttling || throttling->throttled_periods == 0) return std::nullopt;
  return found(Severity::warning,
               "stopped in " + std::to_string(throttling->throttled_periods) + " of " +
                   std::to_string(throttling->periods) + " scheduler periods, " +
                   decimal(throttling->throttled.value()) + " s in all",
               "use fewer threads than the CPU-time limit grants, or raise it");
}

std::optional<Finding> check_virtualised(const Facts& facts) {
  if (!facts.environment.virtualised) return std::nullopt;
  const std::string& name = facts.environment.hypervisor;
  return found(Severity::info, "virtual machine" + (name.empty() ? "" : " (" + name + ")"),
               "none needed; prefer several short runs over one");
}

std::optional<Finding> check_steal(const Facts& facts) {
  const auto steal = facts.environment.steal_ratio;
  if (!steal || *steal < 0.01) return std::nullopt;
  return found(Severity::warning,
               decimal(*steal * 100) + " % of CPU time since boot went to other guests",
               "use dedicated CPUs, or repeat and take the medians");
}

std::optional<Finding> check_load(const Facts& facts) {
  const double load = facts.environment.load_average;
  if (load < 0.5) return std::nullopt;
  return found(Severity::warning, "load average " + decimal(load) + ": something else is running",
               "stop other programs, or wait until they are done");
}

std::optional<Finding> check_clock_source(const Facts& facts) {
  const std::string& source = facts.environment.clock_source;
  const bool slow = source == "hpet" || source == "acpi_pm" || source == "jiffies" ||
                    source == "refined-jiffies" || source == "xen";
  const bool coarse = facts.clock.resolution > Seconds(1e-6);
  const bool dear = facts.clock.cost > Seconds(1e-6);
  if (!slow && !coarse && !dear) return std::nullopt;
  return found(Severity::warning,
               "clock source " + source + ": steps of " +
                   std::to_string(std::lround(facts.clock.resolution.value() * 1e9)) +
                   " ns, a read costs " +
                   std::to_string(std::lround(facts.clock.cost.value() * 1e9)) + " ns",
               "see /sys/devices/system/clocksource; tsc is best where it is stable");
}

std::optional<Finding> check_clock_steps(const Facts& facts) {
  if (facts.clock.backward_steps > 0)
    return found(Severity::error,
                 "the steady clock went backwards " + std::to_string(facts.clock.backward_steps) +
                     " times in one short test",
                 "check the hypervisor's clock, and preloaded libraries that change time");
  if (facts.clock.resolution == Seconds(0))
    return found(Severity::error, "the steady clock stands still",
                 "check the hypervisor's clock, and preloaded libraries that change time");
  return std::nullopt;
}

}  // namespace plimsoll::sys
