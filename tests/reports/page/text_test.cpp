// Texts as the page shows them.

#include "reports/format/html_text.hpp"
#include "tests/catch.hpp"

namespace plimsoll::reports {

TEST_CASE("a count agrees with its noun") {
  CHECK(counted(1, "worker") == "1 worker");
  CHECK(counted(0, "worker") == "0 workers");
}

TEST_CASE("markup characters are escaped and control characters replaced") {
  CHECK(escaped("<a href=\"x\">&'") == "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  CHECK(escaped(std::string("a\0b\x1b", 4)) ==
        "a\xEF\xBF\xBD"
        "b\xEF\xBF\xBD");
  CHECK(escaped("line\nµs") == "line\nµs");
}

TEST_CASE("a plan's label names what is not usual") {
  Plan plan;
  CHECK(plan_label(plan) == "mlp, batch 256, 1 worker");
  plan.workers = 2;
  plan.threads = 3;
  plan.dtype = DType::bf16;
  plan.algorithm = "ring";
  plan.overlap = false;
  CHECK(plan_label(plan) == "mlp, batch 256, 2 workers × 3 threads, bf16, ring, no overlap");
}

TEST_CASE("parameters read as a list, sizes with their prefix") {
  CHECK(joined({{"cores", std::int64_t{2}},
                {"kernel", std::string("triad")},
                {"working_set_bytes", std::int64_t{65536}}}) ==
        "cores=2, kernel=triad, working_set_bytes=65536 (64 KiB)");
}

}  // namespace plimsoll::reports
