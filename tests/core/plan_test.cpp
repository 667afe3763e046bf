// Shares of a batch, gradient buckets, and what a plan refuses.

#include "core/plan.hpp"

#include <numeric>

#include "core/error.hpp"
#include "core/workloads/workloads.hpp"
#include "tests/catch.hpp"

using namespace plimsoll;

TEST_CASE("shares: as even as possible, larger first, nothing lost") {
  CHECK(shares(10, 4) == std::vector<std::int64_t>{3, 3, 2, 2});
  CHECK(shares(3, 4) == std::vector<std::int64_t>{1, 1, 1, 0});
  CHECK(shares(2, 3) == std::vector<std::int64_t>{1, 1, 0});
  CHECK(shares(256, 1) == std::vector<std::int64_t>{256});
  for (std::int64_t batch = 0; batch < 50; ++batch) {
    const auto parts = shares(batch, 7);
    CHECK(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}) == batch);
  }
}

namespace {

// A chain of linear layers without bias whose weights have the given element counts.
Graph chain(const std::vector<std::int64_t>& counts) {
  GraphBuilder g({1});
  int x = g.input();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    x = g.linear("up" + std::to_string(i), x, counts[i], false);
    x = g.linear("down" + std::to_string(i), x, 1, false);
  }
  g.softmax_cross_entropy("loss", x);
  return std::move(g).build();
}

}  // namespace

TEST_CASE("buckets hold every parameter once, in the order in which backward finishes them") {
  const Graph graph = workload_named("mlp").graph;
  for (const double cap : {1.0, 1e5, 4e6, 1e9}) {
    int expected = 5;  // three weights, three biases; fc3.bias first
    double bytes = 0;
    for (const Bucket& bucket : buckets(graph, Bytes(cap))) {
      for (const int parameter : bucket.parameters) CHECK(parameter == expected--);
      bytes += bucket.bytes.value();
    }
    CHECK(expected == -1);
    CHECK(bytes == 4.0 * static_cast<double>(parameter_count(graph)));
  }
}

TEST_CASE("the first bucket closes at 1 MiB, the others at the cap, as PyTorch's do") {
  // fc3 (41,000 B) does not fill 1 MiB, fc2 (4,198,400 B) does; fc1 is the rest.
  const auto result = buckets(workload_named("mlp").graph, Bytes(25.0 * 1024 * 1024));
  REQUIRE(result.size() == 2);
  CHECK(result[0].bytes.value() == 4.0 * (10 * 1024 + 10 + 1024 * 1024 + 1024));
  CHECK(result[1].bytes.value() == 4.0 * (784 * 1024 + 1024));
  CHECK(result[0].ready_after_op > result[1].ready_after_op);
}

TEST_CASE("a bucket closes once it holds the cap: the sizes published in pytorch#48880") {
  // ResNet-18: the last layer is 1000 x 512 + 1000; then 25 MiB. Its bucket of 2,052,000 B holds
  // exactly that layer: the rule closes after the parameter that reaches the limit.
  GraphBuilder g({512});
  const int x = g.linear("body", g.input(), 512);
  g.softmax_cross_entropy("loss", g.linear("fc", x, 1000));
  const auto result = buckets(std::move(g).build(), Bytes(25.0 * 1024 * 1024));
  REQUIRE(result.size() == 2);
  CHECK(result[0].bytes.value() == 2052000);
}

TEST_CASE("a small cap gives one bucket a parameter, a large one gives two at most") {
  const Graph graph = chain({100, 200, 300});
  CHECK(buckets(graph, Bytes(1)).size() == 6);
  CHECK(buckets(graph, Bytes(1e9)).size() == 1);
}

TEST_CASE("check refuses what cannot run, naming flag, value and choice") {
  Plan plan;
  CHECK_NOTHROW(check(plan, 1));
  plan.workers = 4;
  CHECK_THROWS_WITH(check(plan, 2), Catch::Matchers::Contains("4 workers x 1 threads") &&
                                        Catch::Matchers::Contains("2 usable"));
  plan.workers = 0;
  CHECK_THROWS_WITH(check(plan, 2), Catch::Matchers::Contains("--workers"));
  plan = {};
  plan.comm = "pigeon";
  CHECK_THROWS_WITH(check(plan, 2),
                    Catch::Matchers::Contains("'pigeon'") && Catch::Matchers::Contains("threads"));
  plan = {};
  plan.batch = -1;
  CHECK_THROWS_AS(check(plan, 2), Error);
}
