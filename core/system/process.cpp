// Child programs.

#include "core/system/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/error.hpp"
#include "core/system/clock.hpp"
#include "core/system/files.hpp"
#include "core/system/signals.hpp"

extern char** environ;

namespace plimsoll::sys {
namespace {

constexpr int kPollMilliseconds = 20;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  [[nodiscard]] int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read_end, write_end;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(std::string("cannot create a pipe: ") + std::strerror(errno), "pipe2",
                "raise the limit of open files (ulimit -n)");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  for (std::string_view folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    std::string candidate = std::string(folder.empty() ? "." : folder) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw Error("program not found: " + name, "PATH", "install it or give its path");
}

// Our environment with the additions, as "NAME=value" texts.
std::vector<std::string> merged_environment(const std::map<std::string, std::string>& additions) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (additions.find(text.substr(0, text.find('='))) == additions.end()) merged.push_back(text);
  }
  for (const auto& [name, value] : additions) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// What the child does between fork and exec: only calls that are safe after a fork of a process
// with threads. Never returns.
struct Launch {
  const char* program;
  char* const* argv;
  char* const* envp;
  const char* directory;
  int out, err, report;  // report: where errno goes when exec fails
  pid_t parent;
};

[[noreturn]] void become(const Launch& launch) {
  const auto fail = [&] {
    const int code = errno;
    [[maybe_unused]] const ssize_t written = write(launch.report, &code, sizeof code);
    _exit(127);
  };
  setpgid(0, 0);
  // Dies with the thread that started it; the check closes the gap before the call took effect.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launch.parent) _exit(127);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = open("/dev/null", O_RDONLY);
  if (input >= 0) dup2(input, STDIN_FILENO);
  if (launch.out >= 0 && dup2(launch.out, STDOUT_FILENO) < 0) fail();
  if (launch.err >= 0 && dup2(launch.err, STDERR_FILENO) < 0) fail();
  if (launch.directory[0] != '\0' && chdir(launch.directory) != 0) fail();
  execve(launch.program, launch.argv, launch.envp);
  fail();
  _exit(127);
}

struct Child {
  pid_t pid = -1;
  Descriptor out, err;
};

Child start(const ChildOptions& options) {
  const std::string program = find_program(options.argv.front());
  std::vector<std::string> argv = options.argv;
  std::vector<std::string> environment = merged_environment(options.environment);
  const std::vector<char*> argv_pointers = pointers(argv), env_pointers = pointers(environment);
  Pipe out = options.capture_out ? make_pipe() : Pipe{};
  Pipe err = options.capture_err ? make_pipe() : Pipe{};
  Pipe report = make_pipe();
  const Launch launch{
      program.c_str(),     argv_pointers.data(), env_pointers.data(),    options.directory.c_str(),
      out.write_end.get(), err.write_end.get(),  report.write_end.get(), getpid()};
  const pid_t pid = fork();
  if (pid < 0)
    throw Error(std::string("cannot start a process: ") + std::strerror(errno), program,
                "raise the limit of processes (ulimit -u)");
  if (pid == 0) become(launch);
  setpgid(pid, pid);  // also here: whoever comes first, the group exists from now on
  report.write_end.reset();
  int code = 0;
  ssize_t got = 0;
  do got = read(report.read_end.get(), &code, sizeof code);
  while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof code)) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    throw Error("cannot start " + program + ": " + std::strerror(code), program,
                "check that the file exists, is executable and is built for this machine");
  }
  for (const Descriptor* end : {&out.read_end, &err.read_end})
    if (end->get() >= 0) fcntl(end->get(), F_SETFL, O_NONBLOCK);
  return {pid, std::move(out.read_end), std::move(err.read_end)};
}

// Appends what is there; closes at end of file.
void drain(Descriptor& from, std::string& to) {
  std::array<char, 65536> block;
  while (from.get() >= 0) {
    const ssize_t got = read(from.get(), block.data(), block.size());
    if (got > 0) {
      to.append(block.data(), static_cast<std::size_t>(got));
    } else if (got == 0) {
      from.reset();
    } else if (errno != EINTR) {
      return;  // nothing more right now
    }
  }
}

// True once the child has ended. It is not reaped, so that its number, which is also the number
// of its group, cannot be given to somebody else meanwhile.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

// Decides when the child has to be told to end, and when to end it.
class Patience {
 public:
  Patience(const ChildOptions& options, Seconds start) : options_(options), start_(start) {}

  void check(pid_t group, ChildResult& result) {
    const Seconds at = now();
    if (told_) {
      if (at - told_at_ > options_.grace) kill(-group, SIGKILL);
      return;
    }
    if (interrupted()) {
      result.interrupted = true;
      kill(-group, interrupt_signal());
      told_ = true;
      told_at_ = at;
    } else if (options_.timeout && at - start_ > *options_.timeout) {
      result.timed_out = true;
      kill(-group, SIGTERM);
      told_ = true;
      told_at_ = at;
    }
  }

 private:
  const ChildOptions& options_;
  Seconds start_;
  bool told_ = false;
  Seconds told_at_;
};

// Hands complete new lines to the listener; the last call hands out an incomplete line too.
void tell_lines(const ChildOptions& options, const std::string& text, std::size_t& told, bool end) {
  if (!options.on_err_line) return;
  std::size_t at = 0;
  while ((at = text.find('\n', told)) != std::string::npos) {
    options.on_err_line(std::string_view(text).substr(told, at - told));
    told = at + 1;
  }
  if (end && told < text.size()) options.on_err_line(std::string_view(text).substr(told));
}

// Ends the whole group if an exception leaves run_child while the child lives.
class GroupEnd {
 public:
  explicit GroupEnd(pid_t pid) : pid_(pid) {}
  ~GroupEnd() { reap(); }
  GroupEnd(const GroupEnd&) = delete;
  GroupEnd& operator=(const GroupEnd&) = delete;
  int reap() {
    if (pid_ < 0) return status_;
    kill(-pid_, SIGKILL);  // whatever the child left behind in its group
    while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status_;
  }

 private:
  pid_t pid_;
  int status_ = 0;
};

}  // namespace

ChildResult run_child(const ChildOptions& options) {
  expects(!options.argv.empty(), "run_child: argv[0] names the program");
  const Seconds start_time = now();
  Child child = start(options);
  GroupEnd group(child.pid);
  Patience patience(options, start_time);
  ChildResult result;
  std::size_t told = 0;
  while (!has_ended(child.pid)) {
    std::array<pollfd, 2> wait_for{pollfd{child.out.get(), POLLIN, 0},
                                   pollfd{child.err.get(), POLLIN, 0}};
    poll(wait_for.data(), wait_for.size(), kPollMilliseconds);
    drain(child.out, result.out);
    drain(child.err, result.err);
    tell_lines(options, result.err, told, false);
    patience.check(child.pid, result);
  }
  result.duration = now() - start_time;
  const int status = group.reap();
  drain(child.out, result.out);
  drain(child.err, result.err);
  tell_lines(options, result.err, told, true);
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
    result.exit_code = 128 + result.signal;
  } else {
    result.exit_code = WEXITSTATUS(status);
  }
  if (result.timed_out) result.exit_code = static_cast<int>(ExitCode::timed_out);
  return result;
}

std::string own_directory() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    throw Error("cannot find the own program: " + error.message(), "/proc/self/exe", "mount /proc");
  return path.parent_path().string();
}

}  // namespace plimsoll::sys
