// What both engines do with a call.

#pragma once

#include "trainer/backend/imperative/engine.hpp"

namespace plimsoll::trainer::imperative {

// Makes the kernel, or binds it, and executes it. Errors name the operator.
void execute(const Backend& backend, Call& call, Flop& flop);

}  // namespace plimsoll::trainer::imperative
