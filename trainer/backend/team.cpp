// Starts the program again with the OpenMP wait policy that it should have been started with.

#include "trainer/backend/team.hpp"

#include <unistd.h>

#include <cstdlib>

namespace plimsoll::trainer {

bool sleep_when_waiting(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) return true;
  if (setenv("OMP_WAIT_POLICY", "passive", 1) != 0) return false;
  execv("/proc/self/exe", argv);
  return false;  // only reached when execv failed
}

}  // namespace plimsoll::trainer
