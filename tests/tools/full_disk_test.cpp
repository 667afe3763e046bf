// A full disk, through the real binary. By itself: where no file system can be mounted this is
// skipped, and nothing else with it.

#include "tests/catch.hpp"
#include "tests/tools/command.hpp"

using namespace plimsoll;
using namespace plimsoll::test;
using Catch::Matchers::Contains;

TEST_CASE("a full disk stops run before it measures") {
  const tools::ScratchDirectory scratch;
  sys::ChildOptions options;
  options.argv = {"unshare",
                  "-rm",
                  "sh",
                  "-c",
                  "mount -t tmpfs -o size=256k none \"$0\" || exit 99; exec \"$1\" run --quick "
                  "--out \"$0/out\"",
                  scratch.path(),
                  front()};
  options.capture_out = true;
  options.capture_err = true;
  options.timeout = Seconds(60);
  const auto result = sys::run_child(options);
  if (result.exit_code == 99 || result.exit_code == 127 ||
      result.err.find("unshare") != std::string::npos) {
    WARN("SKIPPED: no mount namespace here: " << result.err);
    return;
  }
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.err, Contains("space") && Contains("out"));
}
