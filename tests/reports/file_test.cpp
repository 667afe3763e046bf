// A report is written whole or not at all, and every way to fail has a message and an exit code.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include "core/error.hpp"
#include "reports/report.hpp"
#include "tests/catch.hpp"
#include "tests/reports/samples.hpp"

using namespace plimsoll;
using namespace plimsoll::reports;
namespace t = plimsoll::reports::testing;
namespace fs = std::filesystem;

namespace {

// A folder of its own for each test, removed at its end.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("plimsoll-" + new_id())) {
    fs::create_directory(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    fs::permissions(path_, fs::perms::owner_all);
    fs::remove_all(path_);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(path_), fs::directory_iterator{});
  }

 private:
  fs::path path_;
};

// Runs `work` in a child process; its exit code as plimsoll's main would give it, 128 + the signal
// that killed it, 99 for a closed pipe.
int in_child(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      work();
      ::_exit(0);
    } catch (const ClosedPipe&) {
      ::_exit(99);
    } catch (const Error& error) {
      ::_exit(static_cast<int>(error.exit_code()));
    } catch (...) {
      ::_exit(98);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string refusal(const std::string& path, std::string* fix = nullptr) {
  try {
    write_report(t::machine_sample(), path);
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::could_not_run);
    if (fix != nullptr) *fix = error.fix();
    return error.problem();
  }
  return "written";
}

}  // namespace

TEST_CASE("a report is written and read back, with the rights of the folder's user") {
  const Folder folder;
  const mode_t old = ::umask(022);
  write_report(t::run_sample(), folder / "run.json");
  ::umask(old);
  CHECK(read_text(folder / "run.json") == to_json(t::run_sample()));
  CHECK(to_json(read_report(folder / "run.json")) == to_json(t::run_sample()));
  CHECK(folder.files() == 1);
  struct stat status {};
  REQUIRE(::stat((folder / "run.json").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0644U);
}

TEST_CASE("writing over a file keeps its rights, and a link stays a link") {
  const Folder folder;
  write_text("old", folder / "a.json");
  fs::permissions(folder / "a.json", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a.json", folder / "link.json");
  write_text("new", folder / "link.json");
  CHECK(fs::is_symlink(folder / "link.json"));
  CHECK(read_text(folder / "a.json") == "new");
  CHECK(fs::status(folder / "a.json").permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write));
  fs::create_symlink("later.json", folder / "dangling.json");
  write_text("new", folder / "dangling.json");
  CHECK(read_text(folder / "later.json") == "new");
}

TEST_CASE("names of any bytes are names", "[G13]") {
  const Folder folder;
  const std::string path = folder / "node\xff\xe9-7.json";
  write_report(t::machine_sample(), path);
  CHECK(read_report(path).id == t::machine_sample().id);
  CHECK(reference_to(path).path == path);
}

TEST_CASE("a report that cannot be written is an error that says so", "[G12]") {
  const Folder folder;
  std::string fix;
  CHECK(refusal("/dev/full", &fix) == "cannot write /dev/full: No space left on device");
  CHECK(fix == "free some space, or write to another place");
  CHECK(fs::is_character_file("/dev/full"));
  CHECK(refusal(folder / "", &fix).find("it is a directory") != std::string::npos);
  CHECK(refusal(folder / ".").find("it is a directory") != std::string::npos);
  const std::string missing = folder / "missing/x.json";
  CHECK(refusal(missing, &fix).find("missing does not exist") != std::string::npos);
  CHECK(fix.find("mkdir -p " + (folder / "missing")) != std::string::npos);
  write_text("a file", folder / "file");
  CHECK(refusal(folder / "file/x.json").find("Not a directory") != std::string::npos);
  CHECK(refusal(folder / std::string(300, 'x')).find("name too long") != std::string::npos);
  CHECK(refusal("").find("no file name") != std::string::npos);
  CHECK(folder.files() == 1);
}

TEST_CASE("a folder or file without rights is an error, and stays as it was", "[G12]") {
  const Folder folder;
  write_text("old", folder / "old.json");
  fs::permissions(folder / "old.json", fs::perms::owner_read);
  const auto as_user = [&](const std::string& path) {
    return in_child([&] {
      if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(97);  // root may write anywhere
      write_report(t::machine_sample(), path);
    });
  };
  fs::permissions(folder / "", fs::perms::owner_read | fs::perms::owner_exec |
                                   fs::perms::others_read | fs::perms::others_exec);
  CHECK(as_user(folder / "new.json") == 1);
  CHECK(as_user(folder / "old.json") == 1);
  CHECK(read_text(folder / "old.json") == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("a full disk leaves the old report whole and no rest behind", "[G12]") {
  const Folder folder;
  const std::string path = folder / "machine.json";
  write_text("old report", path);
  const int code = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 1000, .rlim_max = 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    write_report(t::machine_sample(), path);
  });
  CHECK(code == 1);
  CHECK(read_text(path) == "old report");
  CHECK(folder.files() == 1);
}

TEST_CASE("a writer that is killed leaves the old report or the new one", "[G12]") {
  const Folder folder;
  const std::string path = folder / "machine.json";
  Report report = t::machine_sample();
  report.metrics[0].samples.assign(20000, 1.25e-9);
  write_report(report, path);
  const std::string text = read_text(path);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) write_text(text, path);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(2000 + 997 * i));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    REQUIRE(read_text(path) == text);
  }
}

TEST_CASE("a closed stdout is an error, a closed pipe ends quietly", "[G12]") {
  const auto report_to_stdout = [] { write_report(t::machine_sample(), "-"); };
  CHECK(in_child([&] {
          ::close(STDOUT_FILENO);
          report_to_stdout();
        }) == 1);
  CHECK(in_child([&] {
          const int full = ::open("/dev/full", O_WRONLY);
          ::dup2(full, STDOUT_FILENO);
          report_to_stdout();
        }) == 1);
  const auto into_closed_pipe = [&](auto handler) {
    return in_child([&] {
      std::array<int, 2> ends{};
      if (::pipe(ends.data()) != 0) ::_exit(97);
      ::close(ends[0]);
      ::dup2(ends[1], STDOUT_FILENO);
      std::signal(SIGPIPE, handler);
      report_to_stdout();
    });
  };
  CHECK(into_closed_pipe(SIG_IGN) == 99);
  CHECK(into_closed_pipe(SIG_DFL) == 128 + SIGPIPE);
}

TEST_CASE("with stdout closed, a later print does not land in the report", "[G12]") {
  const Folder folder;
  const std::string path = folder / "machine.json";
  CHECK(in_child([&] {
          ::close(STDOUT_FILENO);
          write_report(t::machine_sample(), path);
          std::puts("progress");
          std::fflush(stdout);
        }) == 0);
  CHECK(read_text(path) == to_json(t::machine_sample()));
}

TEST_CASE("stdout takes the whole report, a FIFO too") {
  const Folder folder;
  for (const bool to_stdout : {true, false}) {
    const std::string fifo = folder / (to_stdout ? "out" : "fifo");
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (to_stdout) ::dup2(::open(fifo.c_str(), O_WRONLY), STDOUT_FILENO);
      write_report(t::validation_sample(), to_stdout ? "-" : fifo);
      ::_exit(0);
    }
    CHECK(read_text(fifo) == to_json(t::validation_sample()));
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(fs::is_fifo(fifo));
  }
}

TEST_CASE("a file that cannot be read is an error that says why") {
  const Folder folder;
  CHECK_THROWS_WITH(read_report(folder / "none.json"), Catch::Contains("No such file"));
  CHECK_THROWS_WITH(read_report(folder / ""), Catch::Contains("Is a directory"));
  CHECK_THROWS_WITH(read_report("/dev/null"), Catch::Contains("empty (0 bytes)"));
}
