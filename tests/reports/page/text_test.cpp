// Numbers and texts as the page shows them.

#include "reports/format/html_text.hpp"
#include "tests/catch.hpp"

namespace plimsoll::reports {

TEST_CASE("a number has the prefix that fits it and three digits") {
  CHECK(with_unit(95.3e-9, "s") == "95.3 ns");
  CHECK(with_unit(0.9996e-6, "s") == "1 µs");
  CHECK(with_unit(0.00294, "s") == "2.94 ms");
  CHECK(with_unit(61.0, "s") == "61 s");
  CHECK(with_unit(0, "s") == "0 s");
  CHECK(with_unit(4096, "B") == "4 KiB");
  CHECK(with_unit(1023, "B") == "1023 B");
  CHECK(with_unit(512.0 * 1024 * 1024, "B") == "512 MiB");
  CHECK(with_unit(15.84e9, "B/s") == "15.8 GB/s");
  CHECK(with_unit(999.7e6, "B/s") == "1 GB/s");
  CHECK(with_unit(3.126e12, "FLOP/s") == "3.13 TFLOP/s");
  CHECK(with_unit(41234, "1/s") == "41.2 k/s");
  CHECK(with_unit(0.5, "1") == "0.5");
  CHECK(with_unit(-2.5e-3, "s") == "-2.5 ms");
  CHECK(with_unit(71, "degC") == "71 degC");
}

TEST_CASE("a ratio reads as percent") {
  CHECK(percent(0.1234) == "12.3 %");
  CHECK(signed_percent(0.1) == "+10.0 %");
  CHECK(signed_percent(-0.024) == "-2.4 %");
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
