// Memory by hand: states of SGD with momentum, activations of the built-in networks.

#include "models/memory/footprint.hpp"
#include "core/workloads/workloads.hpp"
#include "tests/catch.hpp"

using namespace plimsoll;
using namespace plimsoll::models;

namespace {

double bytes_of(const std::vector<MemoryItem>& items, const std::string& name) {
  for (const MemoryItem& item : items) {
    if (item.name == name) return item.bytes.value();
  }
  FAIL("no item " << name);
  return 0;
}

}  // namespace

TEST_CASE("single precision SGD with momentum holds 12 bytes a parameter") {
  GraphBuilder builder({1000});
  const int hidden = builder.linear("fc", builder.input(), 999);  // 1000 * 999 + 999 parameters
  builder.softmax_cross_entropy("loss", hidden);
  const Workload workload{.name = "x",
                          .description = "",
                          .graph = std::move(builder).build(),
                          .sample_shape = {1000},
                          .classes = 999,
                          .dataset = "",
                          .default_learning_rate = 0.1};
  REQUIRE(parameter_count(workload.graph) == 999999);
  const auto items = footprint(workload, Plan{}, 1);
  CHECK(bytes_of(items, "parameters") == 4.0 * 999999);
  CHECK(bytes_of(items, "parameters") + bytes_of(items, "gradients") +
            bytes_of(items, "momentum") ==
        12.0 * 999999);
}

TEST_CASE("mlp, batch 256: activations and input by hand") {
  const auto items = footprint(mlp_workload(), Plan{}, 256);
  // fc1, relu1, fc2, relu2: 1024 each; fc3: 10; the loss 1.
  CHECK(bytes_of(items, "activations") == 256.0 * 4 * (4 * 1024 + 11));
  CHECK(bytes_of(items, "activation gradients") == 256.0 * 4 * (4 * 1024 + 10));
  CHECK(bytes_of(items, "input") == 3.0 * 256 * (4 * 784 + 4));  // prefetch 2
  CHECK(bytes_of(items, "workspace") == 0);
  double sum = 0;
  for (const MemoryItem& item : items) sum += item.bytes.value();
  CHECK(total(items).value() == sum);
}

TEST_CASE("adam keeps two moments, and micro-batches need less room") {
  Plan plan;
  const auto sgd = footprint(mlp_workload(), plan, 256);
  plan.optimizer = "adamw";
  const auto adam = footprint(mlp_workload(), plan, 256);
  CHECK(total(adam).value() - total(sgd).value() == bytes_of(sgd, "momentum"));
  CHECK(bytes_of(adam, "first_moment") == bytes_of(adam, "second_moment"));
  plan.accumulate = 3;
  CHECK(bytes_of(footprint(mlp_workload(), plan, 256), "activations") ==
        bytes_of(adam, "activations") * 86 / 256);
}

TEST_CASE("memory grows with the batch and never wraps") {
  const Workload workload = lenet_workload();
  double last = 0;
  for (const std::int64_t batch :
       {std::int64_t{1}, std::int64_t{1000}, std::int64_t{1} << 40, std::int64_t{1} << 62}) {
    const double bytes = total(footprint(workload, Plan{}, batch)).value();
    CHECK(bytes > last);
    last = bytes;
  }
}
