// collective.all_reduce: the real binary, and sums that lie.

#include <memory>

#include "core/system/affinity.hpp"
#include "probes/collective/sums.hpp"
#include "tests/probes/run_probe.hpp"

namespace plimsoll::probes {
namespace {

std::vector<int> two_cpus() {
  const std::vector<int> cpus = sys::affinity().ids();
  return {cpus.front(), cpus.back()};
}

// Leaves out half of every sum: what a fast but wrong algorithm would do.
class Lazy : public trainer::Communicator {
 public:
  explicit Lazy(trainer::Communicator& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void send(int to, trainer::Payload data) override { inner_.send(to, data); }
  void receive(int from, trainer::Payload data) override { inner_.receive(from, data); }
  void barrier() override { inner_.barrier(); }
  trainer::Work all_reduce(trainer::Payload data) override {
    data.elements /= 2;
    return inner_.all_reduce(data);
  }
  bool poll() override { return inner_.poll(); }
  void wait(trainer::Work work) override { inner_.wait(work); }
  void abandon() noexcept override { inner_.abandon(); }
  std::int64_t bytes_sent() const override { return inner_.bytes_sent(); }

 private:
  trainer::Communicator& inner_;
};

TEST_CASE("sums are right for odd sizes and both algorithms, and take time") {
  for (const char* algorithm : {"native", "ring"}) {
    for (const std::int64_t bytes : {4, 68, 4096, 400'004}) {
      Sums sums({.bytes = bytes, .cpus = two_cpus(), .algorithm = algorithm, .wrap = {}});
      CHECK(sums.run(3) > Seconds(0));
      CHECK(!sums.verify().has_value());
    }
  }
}

TEST_CASE("an algorithm that skips half of its work is found out") {
  Sums sums({.bytes = 4096,
             .cpus = two_cpus(),
             .algorithm = "native",
             .wrap = [](trainer::Communicator& c) { return std::make_unique<Lazy>(c); }});
  const auto wrong = sums.verify();
  REQUIRE(wrong.has_value());
  CHECK(*wrong == "element 512 of rank 0 is 0.000000, not 1.000000");
}

TEST_CASE("the binary reports every algorithm, or why it cannot") {
  const ProbeRun run = run_probe_binary("collective.all_reduce",
                                        {"--size", "4", "--size", "64K", "--max-time", "20"});
  REQUIRE(run.report.has_value());
  CHECK(run.metrics.size() >= 4);
  for (const Metric& metric : run.metrics) {
    INFO(metric.reason);
    CHECK(metric.name == "collective.all_reduce.time");
    CHECK(metric.params.contains("algorithm"));
    CHECK((metric.status == Status::ok || metric.status == Status::skipped));
    if (metric.status == Status::ok) CHECK(metric.checked == true);
  }
}

TEST_CASE("with one core there are no two ranks: skipped with the reason, exit code 77") {
  const int cpu = sys::affinity().ids().front();
  const ProbeRun run = run_probe_binary("collective.all_reduce", {"--size", "4"},
                                        {"taskset", "-c", std::to_string(cpu)});
  CHECK(run.child.exit_code == 77);
  for (const Metric& metric : run.metrics)
    CHECK(metric.reason.find("one core") != std::string::npos);
}

}  // namespace
}  // namespace plimsoll::probes
