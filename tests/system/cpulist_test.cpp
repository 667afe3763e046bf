// CPU sets of any size and the kernel's list notation.

#include "core/system/cpulist.hpp"

#include <sstream>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/system/tree.hpp"

namespace plimsoll::sys {
namespace {

std::string problem_of(const std::string& text) {
  try {
    (void)parse_cpulist(text, "--cpus");
  } catch (const Error& error) {
    CHECK(error.where() == "--cpus");
    CHECK(error.exit_code() == ExitCode::wrong_usage);
    return error.problem();
  }
  return "";
}

}  // namespace

TEST_CASE("a list with ids above 63 and 1023 round-trips exactly") {
  const CpuSet cpus = parse_cpulist("0-3,64-67,1024", "test");
  CHECK(cpus.count() == 9);
  CHECK(cpus.last() == 1024);
  CHECK(cpus.contains(66));
  CHECK_FALSE(cpus.contains(63));
  CHECK(format_cpulist(cpus) == "0-3,64-67,1024");
  CHECK(format_cpulist(parse_cpulist("7", "test")) == "7");
  CHECK(format_cpulist(CpuSet{}).empty());
}

TEST_CASE("every case of the list of CPU lists") {
  std::istringstream lines(testing::data_text("cpulist_cases.txt"));
  int seen = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto tab = line.find('\t');
    const std::string input = line.substr(0, tab), expected = line.substr(tab + 1);
    INFO("\"" << input << "\" -> " << expected);
    ++seen;
    // "error or ok": documented as an error; "ok 1 (duplicate) or error": documented as ok.
    if (const auto ok = expected.find("ok "); ok == 0 || input.empty()) {
      const CpuSet cpus = parse_cpulist(input, "test");
      CHECK(cpus.count() == std::stoi(expected.substr(ok + 3)));
    } else {
      CHECK_FALSE(problem_of(input).empty());
    }
  }
  CHECK(seen >= 13);
}

TEST_CASE("a malformed list quotes the bad part") {
  CHECK(problem_of("0-3,3-1").find("\"3-1\"") != std::string::npos);
  CHECK(problem_of("0,5-").find("\"5-\"") != std::string::npos);
  CHECK(problem_of("0,,1").find("\"\"") != std::string::npos);
  CHECK(problem_of("0,a").find("\"a\"") != std::string::npos);
  CHECK(problem_of("-1").find("\"-1\"") != std::string::npos);
  CHECK(problem_of("0-99999999999").find("out of range") != std::string::npos);
  CHECK(problem_of("0-3:2/4").find("stride") != std::string::npos);
  CHECK(problem_of("0-1048576").find("out of range") != std::string::npos);
}

TEST_CASE("set operations") {
  const CpuSet a{0, 1, 2, 3}, b{2, 3, 1500};
  CHECK(both(a, b) == CpuSet{2, 3});
  CHECK(either(a, b) == CpuSet{0, 1, 2, 3, 1500});
  CHECK(without(a, b) == CpuSet{0, 1});
  CpuSet grown;
  grown.insert(5);
  grown.insert(2);
  grown.insert(5);
  CHECK(grown == CpuSet{2, 5});
}

}  // namespace plimsoll::sys
