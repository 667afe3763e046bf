// Threads that stay, each pinned to its own CPU, for probes that measure several cores at once.

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/units.hpp"

namespace plimsoll::probes {

class Team {
 public:
  // One thread a CPU; between runs they sleep. Errors: a CPU cannot be pinned to.
  explicit Team(std::vector<int> cpus);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // work(0) ... work(size - 1), each in its thread, started together at a barrier. The time is
  // from the first start to the last end. An exception of any of them is thrown here.
  using Work = std::function<void(int thread)>;
  Seconds run(const Work& work);

  [[nodiscard]] int size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::probes
