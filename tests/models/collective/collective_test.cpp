// Closed forms against hand-worked cases, and the measured sweep.

#include <cmath>

#include "core/error.hpp"
#include "models/collective/collective.hpp"
#include "tests/catch.hpp"
#include "tests/models/machines.hpp"

using namespace plimsoll;
using namespace plimsoll::models;

namespace {

Machine with_sweep(int ranks, const std::string& algorithm = "native") {
  Machine m;
  m.name = "m.json";
  for (const double bytes : {1024.0, 65536.0, 4194304.0}) {
    m.all_reduce.push_back({.bytes = Bytes(bytes),
                            .ranks = ranks,
                            .comm = "threads",
                            .algorithm = algorithm,
                            .time = tests::within(Seconds(1e-6 + bytes / 4e9), 0.05)});
  }
  return m;
}

}  // namespace

TEST_CASE("ring all-reduce: 8 ranks, 1 GB, 5 us, 100 GB/s is 17.57 ms") {
  const Link link{.latency = Seconds(5e-6), .bandwidth = BytesPerSecond(100e9)};
  const auto t = ring_all_reduce({.ranks = 8, .payload = Bytes(1e9)}, link);
  CHECK(t.latency.value() == Approx(14 * 5e-6).epsilon(1e-12));
  CHECK(t.transfer.value() == Approx(2.0 * 7 / 8 * 1e9 / 100e9).epsilon(1e-12));
  CHECK(t.total().value() == Approx(0.01757).epsilon(1e-12));
  // d2l: 160 MB over 4 GPUs with PCIe 16 GB/s, partitioned; both directions of the ring: 15 ms.
  const Link pcie{.latency = Seconds(0), .bandwidth = BytesPerSecond(16e9)};
  CHECK(ring_all_reduce({.ranks = 4, .payload = Bytes(160e6)}, pcie).total().value() ==
        Approx(0.015).epsilon(1e-12));
  CHECK(ring_all_reduce({.ranks = 1, .payload = Bytes(1e9)}, link).total() == Seconds(0));
}

TEST_CASE("ring additions: (n-1)/n of the buffer") {
  const Link link{
      .latency = Seconds(0), .bandwidth = BytesPerSecond(1e9), .reduction = BytesPerSecond(2e9)};
  const auto t = ring_all_reduce({.ranks = 4, .payload = Bytes(4e6)}, link);
  CHECK(t.reduction.value() == Approx(3e6 / 2e9).epsilon(1e-12));
}

TEST_CASE("recursive doubling: log2 n exchanges of everything") {
  const Link link{
      .latency = Seconds(2e-6), .bandwidth = BytesPerSecond(1e9), .reduction = BytesPerSecond(4e9)};
  const auto eight = recursive_doubling_all_reduce({.ranks = 8, .payload = Bytes(1e6)}, link);
  CHECK(eight.total().value() == Approx(3 * (2e-6 + 1e-3 + 0.25e-3)).epsilon(1e-12));
  const auto six = recursive_doubling_all_reduce({.ranks = 6, .payload = Bytes(1e6)}, link);
  CHECK(six.total().value() == Approx(4 * (2e-6 + 1e-3) + 3 * 0.25e-3).epsilon(1e-12));
  const auto two = recursive_doubling_all_reduce({.ranks = 2, .payload = Bytes(1e6)}, link);
  CHECK(two.total().value() == Approx(2e-6 + 1.25e-3).epsilon(1e-12));
  CHECK(recursive_doubling_all_reduce({.ranks = 1, .payload = Bytes(1e6)}, link).total() ==
        Seconds(0));
}

TEST_CASE("small messages favour recursive doubling, large ones the ring") {
  const Link link{.latency = Seconds(5e-6), .bandwidth = BytesPerSecond(10e9)};
  const CollectiveRequest small{.ranks = 16, .payload = Bytes(1024)};
  const CollectiveRequest large{.ranks = 16, .payload = Bytes(1e9)};
  CHECK(recursive_doubling_all_reduce(small, link).total() < ring_all_reduce(small, link).total());
  CHECK(recursive_doubling_all_reduce(large, link).total() > ring_all_reduce(large, link).total());
}

TEST_CASE("the measured sweep is exact at its points and flagged beyond them") {
  const Machine m = with_sweep(2);
  const auto t = measured_all_reduce(m, {.ranks = 2, .payload = Bytes(65536)}, "threads", "native");
  CHECK(t.time.value() == Approx(1e-6 + 65536 / 4e9).epsilon(1e-12));
  CHECK(t.low < t.time);
  CHECK(t.high > t.time);
  CHECK_FALSE(t.extrapolated);
  CHECK(t.assumption.empty());
  CHECK(
      measured_all_reduce(m, {.ranks = 2, .payload = Bytes(1)}, "threads", "native").extrapolated);
  const auto huge =
      measured_all_reduce(m, {.ranks = 2, .payload = Bytes(1e12)}, "threads", "native");
  CHECK(huge.extrapolated);
  CHECK(std::isfinite(huge.time.value()));
  CHECK(measured_all_reduce(m, {.ranks = 1, .payload = Bytes(1e6)}, "threads", "native").time ==
        Seconds(0));
}

TEST_CASE("more bytes never take less time, whatever the ranks") {
  const Machine m = with_sweep(4);
  for (const int ranks : {2, 3, 4, 5, 16}) {
    Seconds last;
    for (double bytes = 1; bytes < 1e9; bytes *= 1.5) {
      const auto t =
          measured_all_reduce(m, {.ranks = ranks, .payload = Bytes(bytes)}, "threads", "native");
      CHECK(t.time >= last);
      last = t.time;
    }
  }
}

TEST_CASE("ranks that were not measured follow the ring and say so") {
  const Machine m = with_sweep(2, "ring");
  const auto four =
      measured_all_reduce(m, {.ranks = 4, .payload = Bytes(4194304)}, "threads", "ring");
  CHECK(four.extrapolated);
  CHECK(four.assumption.find("not measured with 4 ranks") != std::string::npos);
  const auto two =
      measured_all_reduce(m, {.ranks = 2, .payload = Bytes(4194304)}, "threads", "ring");
  CHECK(four.time / two.time == Approx(1.5).epsilon(0.02));  // 2 (3/4) over 2 (1/2)
  CHECK(four.log_sd > two.log_sd);
}

TEST_CASE("no sweep: the error names the probe") {
  try {
    static_cast<void>(
        measured_all_reduce(with_sweep(2), {.ranks = 2, .payload = Bytes(1)}, "threads", "ring"));
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.fix().find("plimsoll probe collective.all_reduce") != std::string::npos);
    CHECK(error.problem().find("ring") != std::string::npos);
    CHECK(error.where() == "m.json");
  }
}
