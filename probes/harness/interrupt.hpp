// SIGINT and SIGTERM ask the probe to stop: what was measured so far becomes a valid report.

#pragma once

namespace plimsoll::probes {

// The first signal is remembered, the second one ends the process as usual.
void listen_for_interrupts();
[[nodiscard]] bool interrupted();

}  // namespace plimsoll::probes
