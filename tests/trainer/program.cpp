// The trainer as a child process.

#include "tests/trainer/program.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/error.hpp"

extern char** environ;

namespace plimsoll::trainer::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

void read_what_is_there(ProgramRun& run, const std::string& path) {
  if (!fs::exists(path)) return;
  run.report_text = reports::read_text(path);
  run.report = reports::from_json(run.report_text, path);
}

std::ptrdiff_t threads_of(pid_t pid) {
  std::error_code error;
  fs::directory_iterator tasks("/proc/" + std::to_string(pid) + "/task", error);
  return error ? 0 : std::distance(begin(tasks), end(tasks));
}

// CPU seconds that all threads of a process used so far: grows once it computes.
bool wait_until_it_trains(pid_t pid, int workers) {
  for (int i = 0; i < 3000; ++i) {
    if (threads_of(pid) > 1 + workers) {  // loaders stand beside the ranks: the loop has begun
      std::this_thread::sleep_for(milliseconds(300));
      return true;
    }
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

}  // namespace

Folder::Folder() {
  std::string name = (fs::temp_directory_path() / "trainer-test-XXXXXX").string();
  expects(mkdtemp(name.data()) != nullptr, "a temporary folder can be made");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string trainer_path() {
  return std::string(PLIMSOLL_BUILD_DIR) + "/libexec/plimsoll/plimsoll-trainer";
}

reports::Job small_job(const std::string& workload, int workers) {
  reports::Job job;
  job.plan.workload = workload;
  job.plan.batch = 32;
  job.plan.workers = workers;
  job.steps = 6;
  job.warmup_steps = 2;
  job.data_dir = "synthetic:600";
  job.argv = {"plimsoll", "train"};
  return job;
}

ProgramRun run_trainer(reports::Job job, std::vector<std::string> before,
                       std::map<std::string, std::string> environment) {
  const Folder folder;
  job.out = folder.path("run.json");
  reports::write_text(reports::job_to_json(job), folder.path("job.json"));
  sys::ChildOptions options;
  options.argv = std::move(before);
  options.argv.insert(options.argv.end(), {trainer_path(), "--job", folder.path("job.json")});
  options.environment = std::move(environment);
  options.capture_out = options.capture_err = true;
  options.timeout = Seconds(240);
  ProgramRun run;
  run.child = sys::run_child(options);
  read_what_is_there(run, job.out);
  return run;
}

ProgramRun interrupt_trainer(reports::Job job, int signal) {
  const Folder folder;
  job.out = folder.path("run.json");
  const std::string job_path = folder.path("job.json");
  reports::write_text(reports::job_to_json(job), job_path);
  const std::string program = trainer_path();
  const char* const argv[] = {program.c_str(), "--job", job_path.c_str(), nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, program.c_str(), nullptr, &attributes,
                                 const_cast<char* const*>(argv), environ);
  posix_spawnattr_destroy(&attributes);
  ProgramRun run;
  if (failed != 0 || !wait_until_it_trains(pid, job.plan.workers)) {
    run.child.exit_code = -1;
    return run;
  }
  kill(pid, signal);
  int status = 0;
  for (int i = 0; i < 3000 && waitpid(pid, &status, WNOHANG) == 0; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  run.child.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -2;
  if (kill(-pid, SIGKILL) == 0) run.child.exit_code = -3;  // somebody of the group was left
  read_what_is_there(run, job.out);
  return run;
}

const Metric& metric_of(const Report& report, const std::string& name) {
  const auto found = std::find_if(report.metrics.begin(), report.metrics.end(),
                                  [&](const Metric& metric) { return metric.name == name; });
  if (found == report.metrics.end()) throw Error("no metric " + name, "run report", "");
  return *found;
}

const Finding* finding_of(const Report& report, const std::string& id) {
  const auto found = std::find_if(report.findings.begin(), report.findings.end(),
                                  [&](const Finding& finding) { return finding.id == id; });
  return found == report.findings.end() ? nullptr : &*found;
}

}  // namespace plimsoll::trainer::testing
