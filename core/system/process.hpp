// Runs one child program and waits for it: argument vector (no shell), own process group, time-out,
// interrupt forwarding, and no survivor: the child dies with its parent, its group dies with it.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"

namespace plimsoll::sys {

struct ChildOptions {
  std::vector<std::string> argv;  // argv[0] with a slash is a path, else looked up in PATH
  std::map<std::string, std::string> environment;  // added to ours
  std::string directory;                           // empty: ours
  bool capture_out = false;                        // else passed through
  bool capture_err = false;
  std::function<void(std::string_view)> on_err_line;  // each complete line of captured stderr, live
  std::optional<Seconds> timeout;                     // then SIGTERM, and SIGKILL after `grace`
  Seconds grace = Seconds(5);  // time to end after SIGINT or SIGTERM was passed on
};

struct ChildResult {
  int exit_code = 0;  // as a shell would say it: 128 + signal when killed, 124 when timed out
  int signal = 0;     // that ended it, or 0
  bool timed_out = false;
  bool interrupted = false;  // an interrupt came while it ran and was passed on
  std::string out, err;
  Seconds duration;
};

// Error when the program cannot be started (missing, not executable), naming its path. Polls
// sys::interrupted() and passes the signal on to the child's group.
[[nodiscard]] ChildResult run_child(const ChildOptions& options);

// The directory of the running program, with links resolved.
[[nodiscard]] std::string own_directory();

}  // namespace plimsoll::sys
