// A host whose name is not UTF-8: the report is, and the program ends normally.

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "tests/catch.hpp"
#include "tests/reports/schema_check.hpp"
#include "tests/system/doctor_run.hpp"

namespace plimsoll::sys {

TEST_CASE("a host name with bytes that are not UTF-8") {
  // This process moves to a name space of its own, so that the machine keeps its name.
  const std::string name = "node\xff\xe9-7";
  if (unshare(CLONE_NEWUTS) != 0 || sethostname(name.data(), name.size()) != 0) {
    std::puts("SKIPPED: cannot set a host name in a private name space (needs root)");
    return;
  }
  const ChildResult json = testing::run_doctor({"--json", "-"});
  CHECK(json.exit_code == 0);
  CHECK(reports::testing::schema_errors(json.out, "machine", true).empty());
  const Report report = reports::from_json(json.out, "doctor");
  CHECK(report.environment.hostname == "node\xEF\xBF\xBD\xEF\xBF\xBD-7");
  CHECK(testing::run_doctor({}).exit_code == 0);
}

}  // namespace plimsoll::sys
