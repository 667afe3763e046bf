// Ctrl-C and its relatives as a flag that long jobs poll between pieces of work.

#pragma once

namespace plimsoll::sys {

// Handles SIGINT, SIGTERM and SIGHUP: the first sets the flag, the second exits at once with 130.
// A signal that was ignored when the program started (nohup) stays ignored. Call once in main.
void handle_interrupts();

[[nodiscard]] bool interrupted();
[[nodiscard]] int interrupt_signal();  // 0 when none
void request_interrupt(int signal);    // as if the signal had come; for tests and time limits
void clear_interrupt();

}  // namespace plimsoll::sys
