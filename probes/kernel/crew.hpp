// Who computes while a kernel is measured: the team of threads that is timed, and as many further
// teams as fill the busy cores, running the same kernel on data of their own.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/machine.hpp"
#include "probes/harness/team.hpp"
#include "probes/kernel/arena.hpp"
#include "probes/probe.hpp"

namespace plimsoll::probes {

// Arenas by the core that first needs one, so that loads which never run together share them.
class Arenas {
 public:
  explicit Arenas(std::int64_t bytes) : bytes_(bytes) {}
  // Called in the thread that will use it: the first call touches the memory.
  const Arena& of(int cpu);

 private:
  std::int64_t bytes_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Arena>> arenas_;
};

class Crew {
 public:
  // Team t computes with cpus[t * threads, (t + 1) * threads), each thread on its own.
  Crew(const std::vector<int>& cpus, Load load, std::shared_ptr<Arenas> arenas);

  [[nodiscard]] Load load() const { return load_; }
  [[nodiscard]] int teams() const { return team_.size(); }
  [[nodiscard]] const Arena& arena(int team) const { return *arenas_[index(team)]; }

  // In the first thread of every team.
  void each(const std::function<void(int team)>& work);
  // In the first thread of the team that is timed.
  void first(const std::function<void()>& work);
  // Time of `operations` calls of operation(0, i) while every other team t calls operation(t, i)
  // over and over. One call before is not timed: the teams are awake and the code is there.
  using Operation = std::function<void(int team, std::int64_t i)>;
  Seconds time(std::int64_t operations, const Operation& operation);

 private:
  static std::size_t index(int team) { return static_cast<std::size_t>(team); }

  Load load_;
  std::shared_ptr<Arenas> shared_;
  Team team_;
  std::vector<const Arena*> arenas_;  // by team
};

// The crews of a probe, made when first needed.
class Crews {
 public:
  Crews(const ProbeOptions& options, std::int64_t arena_bytes)
      : cpus_(options.cpus), arenas_(std::make_shared<Arenas>(arena_bytes)) {}
  std::shared_ptr<Crew> of(Load load);

 private:
  std::vector<int> cpus_;
  std::shared_ptr<Arenas> arenas_;
  std::map<Load, std::shared_ptr<Crew>> crews_;
};

// The loads a probe measures: what training on this machine can look like. One thread alone; one
// thread with all other cores busy; all cores as one team; beyond quick also the powers of two.
[[nodiscard]] std::vector<Load> loads(const ProbeOptions& options);

}  // namespace plimsoll::probes
