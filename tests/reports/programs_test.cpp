// The promises of this folder through the real programs: plimsoll and validate_report.

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "reports/report.hpp"
#include "tests/catch.hpp"
#include "tests/reports/samples.hpp"

using namespace plimsoll;
using namespace plimsoll::reports;
namespace t = plimsoll::reports::testing;
namespace fs = std::filesystem;

namespace {

const std::string kPlimsoll = PLIMSOLL_COMMAND;
const std::string kValidate = VALIDATE_COMMAND;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("plimsoll-" + new_id())) {
    fs::create_directory(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

struct Result {
  int code = 0;
  std::string out, err;
};

// Runs a shell command line; a death by signal is 128 + its number, as the shell says.
Result shell(const std::string& command) {
  const Folder folder;
  const int status = std::system(
      ("( " + command + " ) >'" + (folder / "out") + "' 2>'" + (folder / "err") + "'").c_str());
  return {.code = WEXITSTATUS(status),
          .out = read_text(folder / "out"),
          .err = read_text(folder / "err")};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("plimsoll schema prints the schema of a kind and nothing else") {
  for (const std::string& kind : schema_kinds()) {
    const Result result = shell(kPlimsoll + " schema " + kind);
    CHECK(result.code == 0);
    CHECK(result.out == schema_text(kind));
    CHECK(result.err.empty());
  }
  const Result unknown = shell(kPlimsoll + " schema training");
  CHECK(unknown.code == 2);
  CHECK(unknown.out.empty());
  CHECK(has(unknown.err, "known kinds: machine, prediction, run, validation, comparison"));
  CHECK(has(shell(kPlimsoll + " schema --help").out, "examples:"));
}

TEST_CASE("output that does not arrive is an error, a reader that left is none", "[G12]") {
  for (const char* arguments : {"", " --help", " --version", " schema machine"}) {
    INFO(arguments);
    const Result full = shell(kPlimsoll + arguments + " >/dev/full");
    CHECK(full.code == 1);
    CHECK(has(full.err, "cannot write to stdout"));
    const Result closed = shell(kPlimsoll + arguments + " >&-");
    CHECK(closed.code == 1);
    CHECK(has(closed.err, "it is closed"));
    // The reader is gone before the program starts to write.
    const Result pipe =
        shell("{ sleep 0.2; " + kPlimsoll + arguments + "; echo code $? >&2; } | true");
    CHECK(pipe.err == "code 1\n");
  }
}

TEST_CASE("a locale that is not there does not matter", "[G03]") {
  const std::string plain = shell(kPlimsoll + " --version").out;
  const Result other = shell("LC_ALL=xx_YY.UTF-8 LANG=xx_YY.UTF-8 " + kPlimsoll + " --version");
  CHECK(other.code == 0);
  CHECK(other.out == plain);
  CHECK(other.err.empty());
}

TEST_CASE("a host name that is not UTF-8 still makes a valid report", "[G13]") {
  const Folder folder;
  const std::string path = folder / "machine.json";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string name = "node\xff\xe9-7";
    if (::unshare(CLONE_NEWUTS) != 0 || ::sethostname(name.data(), name.size()) != 0) ::_exit(77);
    const std::string quiet = kPlimsoll + " doctor --json '" + path + "' >/dev/null";
    ::execl("/bin/sh", "sh", "-c", quiet.c_str(), static_cast<char*>(nullptr));
    ::_exit(98);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 77) {
    WARN("not root, or no UTS namespaces: this machine's host name cannot be changed");
    return;
  }
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(read_report(path).environment.hostname == "node\xEF\xBF\xBD\xEF\xBF\xBD-7");
  CHECK(shell(kValidate + " '" + path + "'").code == 0);
}

TEST_CASE("validate_report accepts what we write and refuses what is wrong") {
  const Folder folder;
  std::string all;
  for (const Report& report : t::all_samples()) {
    const std::string path = folder / (kind_name(report.subject) + ".json");
    write_report(report, path);
    all += " '" + path + "'";
  }
  CHECK(shell(kValidate + " --closed" + all).code == 0);
  CHECK(shell(kValidate).code == 2);
  // The reader accepts a finding with an empty message; the schema does not.
  Report odd = t::machine_sample();
  odd.findings[0].message.clear();
  write_report(odd, folder / "odd.json");
  const Result refused = shell(kValidate + all + " '" + (folder / "odd.json") + "'");
  CHECK(refused.code == 1);
  CHECK(has(refused.err, "findings"));
  const std::string data = std::string(PLIMSOLL_TEST_DATA) + "/data/";
  for (const char* name : {"G01_nan.json", "G11_future_v99.json", "cut_off.json", "empty.json"}) {
    CHECK(shell(kValidate + " " + data + name).code == 1);
  }
}
