// From metrics to a machine: what is used, what is ignored, what is refused.

#include <string>

#include "core/error.hpp"
#include "models/fit/fit.hpp"
#include "tests/catch.hpp"

using namespace plimsoll;
using namespace plimsoll::models;

namespace {

Metric metric(const std::string& name, Params params, double value) {
  Metric m;
  m.name = name;
  m.params = std::move(params);
  m.value = value;
  m.unit = name.ends_with("time") ? "s" : "FLOP/s";
  return m;
}

Metric matmul(double value) {
  return metric("kernel.matmul.rate",
                {{"m", std::int64_t{64}},
                 {"n", std::int64_t{32}},
                 {"k", std::int64_t{16}},
                 {"dtype", std::string("f32")},
                 {"threads", std::int64_t{1}},
                 {"busy_cores", std::int64_t{1}},
                 {"direction", std::string("backward_weights")}},
                value);
}

std::string refusal(const Metric& m) {
  try {
    static_cast<void>(fit({m}));
  } catch (const Error& error) {
    return std::string(error.what()) + error.where();
  }
  return {};
}

}  // namespace

TEST_CASE("a kernel metric becomes a sample with its interval") {
  Metric m = matmul(2e9);
  m.interval = Interval{.low = 1.9e9, .high = 2.2e9, .confidence = 0.95, .method = "x"};
  const Machine machine =
      fit({m}, {.name = "host", .usable_cores = 2, .memory_capacity = Bytes(1e9)});
  REQUIRE(machine.matmul.size() == 1);
  const MatmulSample& s = machine.matmul.front();
  CHECK(s.m == 64);
  CHECK(s.n == 32);
  CHECK(s.k == 16);
  CHECK(s.direction == Direction::backward_weights);
  CHECK(s.load == Load{.threads = 1, .busy_cores = 1});
  CHECK(s.rate.value.value() == 2e9);
  CHECK(s.rate.low.value() == 1.9e9);
  CHECK(s.rate.high.value() == 2.2e9);
  CHECK(s.rate.source == "kernel.matmul.rate");
  CHECK(machine.name == "host");
  CHECK(machine.usable_cores == 2);
}

TEST_CASE("skipped, failed and implausible metrics are not used, unknown names are ignored") {
  for (const Status status : {Status::skipped, Status::failed, Status::implausible}) {
    Metric m = matmul(2e9);
    m.status = status;
    m.reason = "test";
    CHECK(fit({m}).matmul.empty());
  }
  CHECK(fit({metric("kernel.future.rate", {}, -1)}).matmul.empty());
}

TEST_CASE("what is missing is listed by metric name") {
  const Machine machine = fit({matmul(1e9)});
  const auto lists = [&](const std::string& name) {
    return std::count(machine.missing.begin(), machine.missing.end(), name) == 1;
  };
  CHECK(lists("collective.all_reduce.time"));
  CHECK(lists("kernel.dispatch.time"));
  CHECK_FALSE(lists("kernel.matmul.rate"));
}

TEST_CASE("broken metrics are refused, naming metric and parameter") {
  Metric missing = matmul(1e9);
  missing.params.erase("k");
  CHECK(refusal(missing).find("'k'") != std::string::npos);
  CHECK(refusal(missing).find("kernel.matmul.rate") != std::string::npos);
  Metric text = matmul(1e9);
  text.params["m"] = std::string("64");
  CHECK(refusal(text).find("'m'") != std::string::npos);
  Metric fraction = matmul(1e9);
  fraction.params["m"] = 1.5;
  CHECK(refusal(fraction).find("'m'") != std::string::npos);
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}}) {
    Metric m = matmul(1e9);
    m.params["n"] = bad;
    CHECK(refusal(m).find("'n'") != std::string::npos);
  }
  Metric direction = matmul(1e9);
  direction.params["direction"] = std::string("sideways");
  CHECK(refusal(direction).find("sideways") != std::string::npos);
  CHECK_FALSE(refusal(matmul(0)).empty());
  CHECK_FALSE(refusal(matmul(-5)).empty());
  CHECK_FALSE(refusal(matmul(1.0 / 0.0)).empty());
  Metric empty = matmul(1);
  empty.value.reset();
  CHECK_FALSE(refusal(empty).empty());
  Metric inverted = matmul(1e9);
  inverted.interval = Interval{.low = 2e9, .high = 1e9, .confidence = 0.95, .method = "x"};
  CHECK_FALSE(refusal(inverted).empty());
}

TEST_CASE("an interval always holds its value") {
  Metric m = matmul(2e9);
  m.interval = Interval{.low = 2.1e9, .high = 2.2e9, .confidence = 0.95, .method = "x"};
  const auto rate = fit({m}).matmul.front().rate;
  CHECK(rate.low <= rate.value);
  CHECK(rate.value <= rate.high);
}

TEST_CASE("reference loops give the time and the drift of the machine") {
  Metric loop = metric("reference.compute_f32.time", {}, 0.1);
  loop.samples = {0.1, 0.1, 0.1, 0.1, 0.1};
  CHECK(fit({loop}).drift_ratio.value() == 0.0);
  loop.samples = {0.09, 0.1, 0.1, 0.12, 0.15};  // distances 0.01 0 0 0.02 0.05: mad 0.01
  const Machine machine = fit({loop});
  CHECK(machine.drift_ratio.value() == Approx(1.4826 * 0.01 / 0.1));
  CHECK(machine.reference.compute_f32->value.value() == Approx(0.1));
  CHECK_FALSE(fit({}).drift_ratio.has_value());
  Metric elsewhere = loop;  // the same name, on other CPUs
  elsewhere.source = "on each of CPUs 7 at once";
  elsewhere.samples = {9, 9, 9, 9, 9};
  CHECK(fit({loop, elsewhere}).reference.compute_f32->value.value() == Approx(0.1));
}

TEST_CASE("every part of the contract is read") {
  using namespace std::string_literals;
  const auto i = [](std::int64_t v) { return ParamValue(v); };
  const Machine m = fit({
      metric("cpu.flops.rate", {{"dtype", "f32"s}, {"instruction_set", "avx2"s}, {"cores", i(2)}},
             1e11),
      metric("memory.load_latency", {{"working_set_bytes", i(4096)}, {"page", "4k"s}}, 1e-9),
      metric("memory.stream_bandwidth",
             {{"kernel", "read"s}, {"working_set_bytes", i(4096)}, {"cores", i(1)}}, 1e10),
      metric("kernel.convolution.rate",
             {{"batch", i(8)},
              {"in_channels", i(4)},
              {"out_channels", i(8)},
              {"kernel", i(3)},
              {"image", i(16)},
              {"stride", i(1)},
              {"padding", i(1)},
              {"dtype", "f32"s},
              {"threads", i(1)},
              {"busy_cores", i(0)},
              {"direction", "forward"s}},
             1e10),
      metric("kernel.pooling.bandwidth",
             {{"mode", "average"s},
              {"direction", "forward"s},
              {"batch", i(8)},
              {"channels", i(4)},
              {"image", i(16)},
              {"kernel", i(2)},
              {"stride", i(2)},
              {"bytes", i(4096)},
              {"threads", i(1)},
              {"busy_cores", i(0)}},
             1e10),
      metric("kernel.elementwise.bandwidth",
             {{"operation", "relu_forward"s},
              {"bytes", i(4096)},
              {"threads", i(1)},
              {"busy_cores", i(0)}},
             1e10),
      metric("kernel.dispatch.time", {{"threads", i(1)}}, 1e-6),
      metric("collective.all_reduce.time",
             {{"bytes", i(4096)}, {"ranks", i(2)}, {"comm", "threads"s}, {"algorithm", "ring"s}},
             1e-5),
      metric("network.round_trip.time", {{"transport", "tcp"s}, {"bytes", i(1)}}, 1e-5),
      metric("storage.read.bandwidth",
             {{"block_bytes", i(4096)},
              {"queue_depth", i(1)},
              {"engine", "pread"s},
              {"direct", true},
              {"pattern", "random"s}},
             1e8),
  });
  CHECK(m.compute.front().cores == 2);
  CHECK(m.latencies.front().latency.value == Seconds(1e-9));
  CHECK(m.bandwidths.front().working_set == Bytes(4096));
  CHECK(m.convolution.front().padding == 1);
  CHECK(m.pooling.front().mode == Pool::Mode::average);
  CHECK(m.elementwise.front().operation == "relu_forward");
  CHECK(m.dispatch.front().time.value == Seconds(1e-6));
  CHECK(m.all_reduce.front().algorithm == "ring");
  CHECK(m.round_trips.front().transport == "tcp");
  CHECK(m.storage.front().direct);
}
