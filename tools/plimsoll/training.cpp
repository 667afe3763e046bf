// The trainer as a child: job in, run report out.

#include "tools/plimsoll/training.hpp"

#include <cstdio>
#include <string>

#include "core/system/process.hpp"
#include "tools/plimsoll/programs.hpp"
#include "tools/plimsoll/scratch.hpp"

namespace plimsoll::tools {

ExitCode train(const reports::Job& job, bool show, std::optional<Seconds> timeout) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path() + "/job.json";
  reports::write_text(reports::job_to_json(job), path);
  sys::ChildOptions options{.argv = {program("plimsoll-trainer"), "--job", path}};
  options.capture_out = true;  // the report goes to a file: nothing of it belongs on stdout
  options.capture_err = !show;
  options.timeout = timeout;
  const sys::ChildResult result = sys::run_child(options);
  if (result.exit_code != 0 && !show) std::fputs(result.err.c_str(), stderr);
  if (result.interrupted) return ExitCode::interrupted;
  if (result.timed_out) {
    throw Error("training did not end within " + std::to_string(timeout->value()) + " s",
                "plimsoll-trainer", "ask for fewer steps, or look for what holds this machine",
                ExitCode::timed_out);
  }
  if (result.signal != 0) {
    throw Error("the trainer was ended by signal " + std::to_string(result.signal),
                "plimsoll-trainer", "look for an out-of-memory kill; please report a crash");
  }
  return static_cast<ExitCode>(result.exit_code);
}

}  // namespace plimsoll::tools
