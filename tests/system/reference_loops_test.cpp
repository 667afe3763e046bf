// The reference loops and the check of their answers.

#include "core/system/reference_loops.hpp"

#include <numeric>
#include <string>
#include <vector>

#include "core/system/affinity.hpp"
#include "core/system/reference_kernels.hpp"
#include "core/system/topology.hpp"
#include "tests/catch.hpp"

namespace plimsoll::sys {

TEST_CASE("every compute path gives its known answer, and a shorter run does not") {
  std::vector<ComputeLoop> loops = {compute_f32_loop(), generic_f32_loop()};
  if (const auto bf16 = compute_bf16_loop()) loops.push_back(*bf16);
  for (const ComputeLoop& loop : loops) {
    INFO(loop.path);
    CHECK(loop.run(1000) == loop.answer(1000));
    CHECK(loop.run(2) != loop.answer(1000));  // work left out shows
    CHECK(loop.rounds > 1'000'000);
    CHECK(loop.flop_per_round > 0);
  }
}

TEST_CASE("the streaming sum has a closed form, and a page left out shows") {
  for (std::size_t count : {0U, 1U, 7U, 8U, 1000U, 100001U}) {
    std::vector<std::uint64_t> words(count);
    fill_counting(words);
    CHECK(stream_sum(words) == counting_sum(count));
    CHECK(stream_sum(words) == std::accumulate(words.begin(), words.end(), std::uint64_t{0}));
  }
  std::vector<std::uint64_t> words(100000);
  fill_counting(words);
  CHECK(stream_sum(std::span(words).subspan(512)) != counting_sum(words.size()));
}

TEST_CASE("loops run on every usable CPU, and say so") {
  const std::string all = "CPUs " + format_cpulist(read_topology().usable) + " at once";
  const std::string one = "CPUs " + std::to_string(affinity().first()) + " at once";
  for (const ReferenceTime& time : ReferenceLoops().sample()) {
    if (time.time.value) CHECK(time.source.find(all) != std::string::npos);
  }
  for (const ReferenceTime& time : ReferenceLoops(CpuSet{affinity().first()}).sample()) {
    if (time.time.value) CHECK(time.source.find(one) != std::string::npos);
  }
}

TEST_CASE("samples have the same names in the same order, on one CPU and on every one") {
  for (const CpuSet& cpus : {CpuSet{affinity().first()}, affinity()}) {
    ReferenceLoops loops(cpus);
    const CpuSet before = affinity();
    const auto first = loops.sample(), second = loops.sample();
    CHECK(affinity() == before);
    REQUIRE(first.size() == 3);
    const std::vector<Metric> metrics = reference_metrics({first, second});
    REQUIRE(metrics.size() == 3);
    CHECK(metrics[0].name == "reference.compute_f32.time");
    CHECK(metrics[1].name == "reference.compute_bf16.time");
    CHECK(metrics[2].name == "reference.memory.time");
    for (const Metric& metric : metrics) {
      INFO(metric.name << " " << metric.reason);
      CHECK(metric.unit == "s");
      CHECK(metric.params.empty());
      if (metric.status == Status::skipped) {
        CHECK(metric.name == "reference.compute_bf16.time");
        CHECK_FALSE(metric.reason.empty());
        CHECK_FALSE(metric.value);
      } else {
        CHECK(metric.samples.size() == 2);
        CHECK(metric.value.value() > 0);
        CHECK_FALSE(metric.source.empty());
      }
    }
  }
}

TEST_CASE("a loop that this machine cannot run is skipped with its reason") {
  const std::vector<ReferenceTime> times = {
      {"reference.compute_bf16.time", {std::nullopt, "no such instruction"}, ""}};
  const std::vector<Metric> metrics = reference_metrics({times, times});
  REQUIRE(metrics.size() == 1);
  CHECK(metrics[0].status == Status::skipped);
  CHECK(metrics[0].reason == "no such instruction");
  CHECK(reference_metrics({}).empty());
}

}  // namespace plimsoll::sys
