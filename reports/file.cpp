// Files that are whole or not there: a report is written under a temporary name beside its target,
// synced, and renamed over it; whatever fails, the old report stays and the user is told.
//
// Devices and pipes (/dev/stdout, a FIFO) are written directly: renaming would replace them. A
// symbolic link keeps pointing where it did: its target is replaced.

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "core/error.hpp"
#include "reports/report.hpp"

namespace plimsoll::reports {
namespace {

// A file descriptor with an owner; -1 owns nothing.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File& operator=(File&&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

// Removes a temporary file unless it was renamed away.
class Temporary {
 public:
  explicit Temporary(std::string path) : path_(std::move(path)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!kept_) ::unlink(path_.c_str());
  }
  void keep() { kept_ = true; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool kept_ = false;
};

// Never one of 0, 1, 2: were stdout closed, a later print would land in the report.
int open_high(const std::string& path, int flags, mode_t mode) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0 || fd > 2) return fd;
  const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  const int problem = errno;
  ::close(fd);
  errno = problem;
  return high;
}

std::string fix_for(int problem, const std::string& directory) {
  switch (problem) {
    case ENOSPC:
    case EDQUOT:
      return "free some space, or write to another place";
    case EACCES:
    case EPERM:
      return "change its permissions, or write to a place that you own";
    case EROFS:
      return "the file system is read-only: write to another place";
    case ENOENT:
      return "create the directory: mkdir -p " + directory;
    case ENAMETOOLONG:
      return "choose a shorter name";
    default:
      return "write to another place";
  }
}

[[noreturn]] void cannot_write(const std::string& path, const std::string& directory, int problem) {
  std::string why = std::strerror(problem);
  if (problem == ENOENT) why = "directory " + directory + " does not exist";
  throw Error(fmt::format("cannot write {}: {}", path, why), path, fix_for(problem, directory));
}

// 0, or the errno of what went wrong.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// An earlier print failed and its errno is gone: what does the descriptor still tell?
int why_lost() {
  pollfd state{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&state, 1, 0) < 0) return errno;
  const auto flags = static_cast<unsigned>(state.revents);
  if ((flags & POLLNVAL) != 0U) return EBADF;
  return (flags & POLLERR) != 0U ? EPIPE : EIO;
}

void write_stdout(std::string_view text) {
  int problem = std::fflush(stdout) == 0 ? 0 : errno;
  if (problem == 0 && std::ferror(stdout) != 0) problem = why_lost();
  if (problem == 0) problem = write_all(STDOUT_FILENO, text);
  if (problem == 0) return;
  if (problem == EPIPE) throw ClosedPipe();
  throw Error(fmt::format("cannot write to stdout: {}",
                          problem == EBADF ? "it is closed" : std::strerror(problem)),
              "stdout",
              problem == EBADF ? "leave stdout open, or name a file" : fix_for(problem, ""));
}

// Where the bytes must really go: symbolic links followed as far as they lead.
std::string real_target(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel's own limit
  std::filesystem::path target = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(target, error); ++i) {
    target = target.parent_path() / std::filesystem::read_symlink(target, error);
  }
  return target.string();
}

void write_directly(std::string_view text, const std::string& path) {
  File file(open_high(path, O_WRONLY | O_NOCTTY, 0));
  if (file.fd() < 0) cannot_write(path, "", errno);
  if (const int problem = write_all(file.fd(), text); problem == EPIPE) {
    throw ClosedPipe();
  } else if (problem != 0) {
    cannot_write(path, "", problem);
  }
  if (file.close() != 0) cannot_write(path, "", errno);
}

// A rename is on disk only once its directory is; file systems that cannot sync one say EINVAL.
void sync_directory(const std::string& directory, const std::string& path) {
  const File file(open_high(directory, O_RDONLY | O_DIRECTORY, 0));
  if (file.fd() < 0) return;  // readable is not required, only writable
  if (::fsync(file.fd()) != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT)) {
    cannot_write(path, directory, errno);
  }
}

std::string directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

// A new file beside `path`, which it may replace.
File open_beside(const std::string& path, const std::string& name, bool exists) {
  const std::string directory = directory_of(path);
  if (exists && ::access(path.c_str(), W_OK) != 0) cannot_write(path, directory, errno);
  File file(open_high(name, O_WRONLY | O_CREAT | O_EXCL, 0666));
  if (file.fd() < 0) cannot_write(path, directory, errno);
  return file;
}

std::string temporary_name(const std::string& path) {
  return fmt::format("{}/.plimsoll-{}.tmp", directory_of(path), new_id().substr(0, 13));
}

void replace_file(std::string_view text, const std::string& path, const struct stat* old) {
  const std::string directory = directory_of(path), name = temporary_name(path);
  File file = open_beside(path, name, old != nullptr);
  Temporary temporary(name);
  if (old != nullptr && ::fchmod(file.fd(), old->st_mode & 07777U) != 0) {
    cannot_write(path, directory, errno);
  }
  if (const int problem = write_all(file.fd(), text); problem != 0) {
    cannot_write(path, directory, problem);
  }
  if (::fsync(file.fd()) != 0) cannot_write(path, directory, errno);
  if (file.close() != 0) cannot_write(path, directory, errno);
  if (::rename(name.c_str(), path.c_str()) != 0) cannot_write(path, directory, errno);
  temporary.keep();
  sync_directory(directory, path);
}

// What `path` leads to; a directory or no name at all is refused.
struct Target {
  std::string path;
  struct stat status {};
  bool exists = false;
  [[nodiscard]] bool is_file() const { return !exists || S_ISREG(status.st_mode); }
};

Target target_of(const std::string& path) {
  if (path.empty()) throw Error("no file name to write to", "\"\"", "name a file, or - for stdout");
  Target target;
  target.path = real_target(path);
  target.exists = ::stat(target.path.c_str(), &target.status) == 0;
  if (target.exists && S_ISDIR(target.status.st_mode)) {
    throw Error(fmt::format("cannot write {}: it is a directory", path), path,
                fmt::format("name a file in it, for example {}/report.json", path));
  }
  return target;
}

}  // namespace

ClosedPipe::ClosedPipe() : Error("nobody reads the output any more", "stdout", "") {}

void write_text(std::string_view text, const std::string& path) {
  if (path == "-") {
    write_stdout(text);
    return;
  }
  const Target target = target_of(path);
  if (target.is_file()) {
    replace_file(text, target.path, target.exists ? &target.status : nullptr);
  } else {
    write_directly(text, target.path);
  }
}

void expect_writable(const std::string& path) {
  if (path == "-") {
    if (::fcntl(STDOUT_FILENO, F_GETFD) >= 0) return;
    throw Error("cannot write to stdout: it is closed", "stdout",
                "leave stdout open, or name a file");
  }
  const Target target = target_of(path);
  if (target.is_file()) {
    const Temporary trial(temporary_name(target.path));
    const File file = open_beside(target.path, trial.path(), target.exists);
  } else if (::access(target.path.c_str(), W_OK) != 0) {
    cannot_write(path, "", errno);
  }
}

void finish_stdout() { write_stdout(""); }

std::string read_text(const std::string& path) {
  constexpr std::size_t kLargest = std::size_t{1} << 30U;
  const bool from_stdin = path == "-";
  File opened(from_stdin ? -1 : open_high(path, O_RDONLY | O_NOCTTY, 0));
  const int fd = from_stdin ? STDIN_FILENO : opened.fd();
  const std::string name = from_stdin ? "stdin" : path;
  const auto cannot_read = [&](int problem) {
    return Error(fmt::format("cannot read {}: {}", name, std::strerror(problem)), name,
                 problem == ENOENT   ? "check the name"
                 : problem == EISDIR ? "name a file in it"
                                     : "check that it is a file you may read");
  };
  if (fd < 0) throw cannot_read(errno);
  std::string text;
  std::array<char, 65536> block{};
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw cannot_read(errno);
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kLargest) {
      throw Error(fmt::format("{} is larger than 1 GiB", name), name, "check that it is a report");
    }
  }
}

void write_report(const Report& report, const std::string& path) {
  write_text(to_json(report), path);
}

Report read_report(const std::string& path) {
  return from_json(read_text(path), path == "-" ? "stdin" : path);
}

}  // namespace plimsoll::reports
