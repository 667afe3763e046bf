// How the OpenMP threads of an operator wait for each other: asleep, never spinning.
//
// A spinning team that shares a core with anybody else (a communicator, a loader, another rank)
// runs many times slower, because the spinner holds the core that the one waited for needs. The
// OpenMP runtime reads its wait policy once, when it is loaded: it must be in the environment
// before the program starts.

#pragma once

namespace plimsoll::trainer {

// First call of main(): where OMP_WAIT_POLICY is not set, sets it to "passive" and starts this
// program again with the same arguments; then it returns. A policy that the user chose is kept, a
// binding (OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY) is taken away in the same manner: whoever
// executes kernels binds its threads itself.
// False when the program could not be started again: teams may then spin.
bool sleep_when_waiting(char** argv);

}  // namespace plimsoll::trainer
