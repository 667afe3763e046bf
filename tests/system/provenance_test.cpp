// Provenance: an allow-list, never the whole environment.

#include "core/system/provenance.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/system/build_info.hpp"
#include "core/system/parts.hpp"
#include "tests/catch.hpp"
#include "tests/system/tree.hpp"

namespace plimsoll::sys {

using testing::Tree;

TEST_CASE("this machine: what is unknown has a reason, what is known is not zero") {
  const Environment host = describe_environment("");
  CHECK_FALSE(host.hostname.empty());
  CHECK(host.hostname == valid_utf8(host.hostname));
  CHECK(host.memory_bytes > 0);
  CHECK(host.available_bytes > 0);
  CHECK(host.hardware_threads > 0);
  CHECK(host.cores > 0);
  CHECK_FALSE(host.usable_cpus.empty());
  CHECK_FALSE(host.architecture.empty());
  CHECK(host.clock_resolution_s > 0);
  CHECK(host.governor.value.has_value() == host.governor.reason.empty());
  CHECK(host.frequency_hz.value.has_value() == host.frequency_hz.reason.empty());
  if (host.frequency_hz.value) CHECK(*host.frequency_hz.value > 0);
  CHECK(host.libraries.count("hwloc") == 1);
  CHECK(host.libraries.count("onednn") == 0);  // not linked here: a program that does says so
  const Environment more = describe_environment("", {{"onednn", "1.2.3"}});
  CHECK(more.libraries.at("onednn") == "1.2.3");
  CHECK(more.libraries.count("hwloc") == 1);
}

TEST_CASE("frequency and governor from files, and their absence") {
  Tree tree("cpu0_offline");
  Environment host = describe_environment(tree.root());
  CHECK_FALSE(host.governor.value);
  CHECK(host.governor.reason.find("cpufreq") != std::string::npos);
  CHECK_FALSE(host.frequency_hz.value);
  for (int cpu = 1; cpu <= 3; ++cpu) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_";
    tree.add(folder + "governor", cpu == 3 ? "powersave\n" : "performance\n")
        .add(folder + "cur_freq", "2400000\n");
  }
  host = describe_environment(tree.root());
  CHECK(host.governor.value == "performance, powersave");
  CHECK(host.frequency_hz.value.value() == Approx(2.4e9));
}

TEST_CASE("memory without memory-only nodes; later additions count") {
  Tree tree("cpuless_node");
  CHECK(describe_environment(tree.root()).memory_bytes == 8LL << 30);
  tree.add("/proc/meminfo", "MemTotal: 109051904 kB\nMemAvailable: 1024 kB\n");  // 104 GiB
  CHECK(describe_environment(tree.root()).memory_bytes == 8LL << 30);
}

TEST_CASE("steal time, load, pages in made-up files") {
  Tree tree;
  CHECK_FALSE(steal_ratio(tree.root()));
  tree.add("/proc/stat", "cpu  10 0 10 60 0 0 0 20 0 0\ncpu0 1 1 1 1 1 1 1 1\n");
  CHECK(steal_ratio(tree.root()).value() == Approx(0.2));
  tree.add("/proc/loadavg", "12.07 3.00 1.00 1/100 1234\n")
      .add("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  const Environment host = describe_environment(tree.root());
  CHECK(host.load_average == Approx(12.07));
  CHECK(host.transparent_huge_pages == "madvise");
  tree.add("/proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\n");
  CHECK_FALSE(steal_ratio(tree.root()));  // no division by zero
}

TEST_CASE("the command keeps its words and an allow-list of variables, nothing else") {
  setenv("OMP_NUM_THREADS", "3", 1);
  setenv("PLIMSOLL_TEST_SECRET", "hunter2", 1);
  const Command command = describe_command({"plimsoll", "bad\xff"}, 7);
  unsetenv("OMP_NUM_THREADS");
  unsetenv("PLIMSOLL_TEST_SECRET");
  CHECK(command.argv.at(1) == "bad\xEF\xBF\xBD");
  CHECK(command.seed == 7);
  CHECK(command.variables.at("OMP_NUM_THREADS") == "3");
  CHECK(command.variables.count("PLIMSOLL_TEST_SECRET") == 0);
  CHECK(command.variables.count("PATH") == 0);
}

TEST_CASE("the build tells its version, compiler and type; no part is unnamed") {
  const Tool tool = describe_tool();
  CHECK(tool.name == "plimsoll");
  CHECK_FALSE(tool.version.empty());
  CHECK_FALSE(tool.compiler.empty());
  CHECK((tool.git_commit.empty() || tool.git_commit.size() == 40));
  CHECK(tool.flags.find("march=native") == std::string::npos);
  CHECK(parts().size() >= 6);
  for (const Part& part : parts()) {
    CHECK((part.state == "on" || part.state == "missing" || part.state == "off"));
    CHECK_FALSE(part.loses.empty());
    CHECK_FALSE(part.fix.empty());
  }
}

TEST_CASE("instruction sets agree with what the kernel lists") {
  const std::string cpuinfo = read_file("", "/proc/cpuinfo").value_or("");
  const auto listed = [&](const std::string& flag) {
    return cpuinfo.find(" " + flag + " ") != std::string::npos ||
           cpuinfo.find(" " + flag + "\n") != std::string::npos;
  };
#if defined(__x86_64__)
  for (const char* name : {"sse4_2", "fma", "avx2", "avx512f", "avx512_bf16", "amx_bf16"}) {
    INFO(name);
    CHECK(has_instruction_set(name) == listed(name));
  }
#elif defined(__aarch64__)
  CHECK(has_instruction_set("asimd") == listed("asimd"));
#endif
  CHECK_FALSE(has_instruction_set("no_such_set"));
}

}  // namespace plimsoll::sys
