// Limits of control groups, version 1 and 2, from made-up trees.

#include "core/system/cgroup.hpp"

#include <sstream>

#include "core/system/topology.hpp"
#include "tests/catch.hpp"
#include "tests/system/tree.hpp"

namespace plimsoll::sys {

using testing::Tree;

TEST_CASE("every case of the list of cpu.max texts, through a made-up root") {
  std::istringstream lines(testing::data_text("cpu_max_cases.txt"));
  int seen = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto tab = line.find('\t');
    const std::string input = line.substr(0, tab), expected = line.substr(tab + 1);
    INFO("\"" << input << "\" -> " << expected);
    ++seen;
    Tree tree;
    tree.add("/sys/fs/cgroup/cpu.max", input + "\n");
    const Cgroup cgroup = read_cgroup(tree.root());
    const bool limited = std::isdigit(static_cast<unsigned char>(expected.front())) != 0;
    CHECK(cgroup.cpu_quota.value.has_value() == limited);
    CHECK(default_threads(2, cgroup.cpu_quota) >= 1);
    if (limited) {
      CHECK(*cgroup.cpu_quota.value == Approx(std::stod(expected)));
      // "1.5, 2": the limit, then the threads on two usable CPUs
      if (const auto comma = expected.find(", "); comma != std::string::npos) {
        CHECK(default_threads(2, cgroup.cpu_quota) == std::stoi(expected.substr(comma + 2)));
      }
    } else {
      CHECK(default_threads(2, cgroup.cpu_quota) == 2);
    }
    const bool complains =
        expected.find("warn") != std::string::npos || expected.find("invalid") != std::string::npos;
    CHECK(cgroup.findings.empty() == !complains);
  }
  CHECK(seen >= 12);
}

TEST_CASE("the smallest limit from the process's group up to the root counts") {
  Tree tree;
  tree.add("/proc/self/cgroup", "0::/outer/inner\n")
      .add("/proc/self/mountinfo",
           "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n")
      .add("/sys/fs/cgroup/outer/cpu.max", "50000 100000\n")
      .add("/sys/fs/cgroup/outer/inner/cpu.max", "300000 100000\n")
      .add("/sys/fs/cgroup/outer/memory.max", "1073741824\n")
      .add("/sys/fs/cgroup/outer/memory.current", "200000000\n")
      .add("/sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 50000000\n")
      .add("/sys/fs/cgroup/outer/inner/memory.max", "max\n")
      .add("/sys/fs/cgroup/outer/inner/cpuset.cpus.effective", "2-3\n")
      .add("/sys/fs/cgroup/outer/inner/cpu.stat",
           "usage_usec 5\nnr_periods 10\nnr_throttled 4\nthrottled_usec 2500000\n");
  const Cgroup cgroup = read_cgroup(tree.root());
  CHECK(cgroup.cpu_quota.value.value() == Approx(0.5));
  CHECK(cgroup.memory_limit.value.value() == Bytes(1073741824));
  CHECK(cgroup.memory_used.value() == Bytes(150000000));
  CHECK(cgroup.cpuset.value() == CpuSet{2, 3});
  REQUIRE(cgroup.throttling);
  CHECK(cgroup.throttling->throttled_periods == 4);
  CHECK(cgroup.throttling->throttled.value() == Approx(2.5));
}

TEST_CASE("version 1, mounted by controller and seen through a container's mount") {
  Tree tree;
  tree.add("/proc/self/cgroup", "4:memory:/box/c1\n3:cpuset:/box/c1\n1:cpu,cpuacct:/box/c1\n0::/\n")
      .add("/proc/self/mountinfo",
           "31 30 0:27 /box/c1 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
           "32 30 0:28 /box/c1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
           "33 30 0:29 /box/c1 /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
           "34 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n")
      .add("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "25000\n")
      .add("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
      .add("/sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n")
      .add("/sys/fs/cgroup/cpuset/cpuset.cpus", "1\n");
  const Cgroup cgroup = read_cgroup(tree.root());
  CHECK(cgroup.cpu_quota.value.value() == Approx(0.25));
  CHECK(default_threads(2, cgroup.cpu_quota) == 1);
  CHECK(cgroup.memory_limit.value.value() == Bytes(268435456));
  CHECK(cgroup.cpuset.value() == CpuSet{1});
}

TEST_CASE("no limit in version 1: -1 and a number near 2^63") {
  Tree tree;
  tree.add("/proc/self/cgroup", "4:memory:/\n1:cpu:/\n")
      .add("/proc/self/mountinfo",
           "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
           "32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup c rw,memory\n")
      .add("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
      .add("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
      .add("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const Cgroup cgroup = read_cgroup(tree.root());
  CHECK_FALSE(cgroup.cpu_quota.value);
  CHECK(cgroup.cpu_quota.reason == "no limit");
  CHECK_FALSE(cgroup.memory_limit.value);
  CHECK(cgroup.findings.empty());
}

TEST_CASE("garbage in memory.max and in the cpuset is said, not believed") {
  Tree tree;
  tree.add("/sys/fs/cgroup/memory.max", "lots\n").add("/sys/fs/cgroup/cpuset.cpus", "3-1\n");
  const Cgroup cgroup = read_cgroup(tree.root());
  CHECK_FALSE(cgroup.memory_limit.value);
  CHECK_FALSE(cgroup.cpuset);
  CHECK(cgroup.findings.size() == 2);
}

}  // namespace plimsoll::sys
