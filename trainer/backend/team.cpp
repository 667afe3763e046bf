// Starts the program again with the OpenMP wait policy that it should have been started with.

#include "trainer/backend/team.hpp"

#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

namespace plimsoll::trainer {

bool sleep_when_waiting(char** argv) {
  bool as_wanted = std::getenv("OMP_WAIT_POLICY") != nullptr;
  for (const char* binding : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"}) {
    if (std::getenv(binding) == nullptr) continue;
    as_wanted = false;
    unsetenv(binding);
  }
  if (as_wanted) return true;
  if (setenv("OMP_WAIT_POLICY", "passive", 0) != 0) return false;
  execv("/proc/self/exe", argv);
  return false;  // only reached when execv failed
}

}  // namespace plimsoll::trainer
