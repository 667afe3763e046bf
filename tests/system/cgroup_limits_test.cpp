// Real control groups (version 1, as root): what the kernel enforces is what doctor tells.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "core/system/cgroup.hpp"
#include "core/system/files.hpp"
#include "tests/catch.hpp"
#include "tests/system/doctor_run.hpp"

namespace plimsoll::sys {
namespace {

using testing::find;

// A group below the process's own one, removed at the end.
class Group {
 public:
  explicit Group(const std::string& controller) {
    const std::string groups = read_file("", "/proc/self/cgroup").value_or("");
    for (std::string_view line : split(groups, '\n')) {
      const auto fields = split(line, ':');
      if (fields.size() == 3 && fields[1] == controller)
        path_ = "/sys/fs/cgroup/" + controller + std::string(fields[2]) + "/plimsoll-test-" +
                std::to_string(getpid());
    }
    made_ = !path_.empty() && mkdir(path_.c_str(), 0755) == 0;
  }
  ~Group() {
    if (made_) rmdir(path_.c_str());
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  bool set(const std::string& file, const std::string& value) const {
    std::ofstream out(path_ + "/" + file);
    out << value << std::flush;
    return made_ && out.good();
  }
  // A shell that enters the group and then becomes the program behind it.
  [[nodiscard]] std::vector<std::string> entry() const {
    return {"sh", "-c", "echo $$ > " + path_ + "/tasks && exec \"$@\"", "sh"};
  }

 private:
  std::string path_;
  bool made_ = false;
};

bool skipped(bool possible, const char* why) {
  if (!possible) std::printf("SKIPPED: %s\n", why);
  return !possible;
}

}  // namespace

TEST_CASE("a CPU-time quota: hardware stays, threads follow, never zero") {
  const Group group("cpu");
  if (skipped(group.set("cpu.cfs_period_us", "100000"),
              "cannot make a cpu control group (needs root and version 1)"))
    return;
  for (const auto& [quota, expected] : {std::pair{"100000", 1.0}, std::pair{"25000", 0.25}}) {
    REQUIRE(group.set("cpu.cfs_quota_us", quota));
    const Report report = testing::doctor_report({}, group.entry());
    CHECK(report.environment.hardware_threads == static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
    CHECK(report.environment.cpu_quota.value.value() == Approx(expected));
    const ChildResult text = testing::run_doctor({}, {}, group.entry());
    CHECK(text.exit_code == 0);
    CHECK(text.out.find("default threads 1") != std::string::npos);
  }
}

TEST_CASE("a run under a quota says so, with how often it was stopped") {
  const Group group("cpu");
  if (skipped(group.set("cpu.cfs_period_us", "100000"),
              "cannot make a cpu control group (needs root and version 1)"))
    return;
  REQUIRE(group.set("cpu.cfs_quota_us", "25000"));
  ChildOptions child{.argv = group.entry()};
  child.argv.insert(child.argv.end(), {PLIMSOLL_PROGRAM, "train", "--steps", "20", "--data-dir",
                                       "synthetic:512", "--json", "-"});
  child.capture_out = child.capture_err = true;
  const ChildResult result = run_child(child);
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const Report report = reports::from_json(result.out, "stdout");
  const Finding* const quota = find(report, "train.cpu_quota");
  REQUIRE(quota != nullptr);
  CHECK(quota->message.find("0.25 CPUs") != std::string::npos);
  CHECK(quota->message.find("scheduler periods") != std::string::npos);
}

TEST_CASE("a memory limit: told, and taken as the room for buffers") {
  const Group group("memory");
  if (skipped(group.set("memory.limit_in_bytes", "268435456"),
              "cannot make a memory control group (needs root and version 1)"))
    return;
  const Report report = testing::doctor_report({}, group.entry());
  CHECK(report.environment.memory_limit_bytes.value.value() == 268435456);
  REQUIRE(find(report, "memory.limit") != nullptr);
  CHECK(find(report, "memory.limit")->severity == Severity::warning);
  REQUIRE(find(report, "memory.available") != nullptr);
  CHECK(find(report, "memory.available")->message.find("cgroup memory limit") != std::string::npos);
}

TEST_CASE("an address space limit: no bare bad_alloc") {
  const ChildResult result =
      testing::run_doctor({"--only", "memory.available"}, {}, {"prlimit", "--as=400000000"});
  INFO(result.out << result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("address space limit") != std::string::npos);
}

}  // namespace plimsoll::sys
