// The weights that training starts from.

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/workloads/workloads.hpp"
#include "tests/catch.hpp"
#include "trainer/execution/executor.hpp"

using namespace plimsoll;
using namespace plimsoll::trainer;

namespace {

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};

std::map<std::string, Moments> start_of(const std::string& name, std::uint64_t seed = 1) {
  const Workload workload = workload_named(name);
  const FlatLayout layout = flat_layout(workload.graph, Bytes(1 << 20), 0);
  std::vector<float> weights(static_cast<std::size_t>(layout.total), 99.0F);
  initialise(weights, workload.graph, layout, seed);
  std::map<std::string, Moments> result;
  std::size_t index = 0;
  for (const Op& op : workload.graph.ops) {
    for (const Parameter& parameter : op.parameters) {
      const Range& range = layout.parameters[index++];
      Moments m;
      double squares = 0;
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        const double value = static_cast<double>(weights[static_cast<std::size_t>(i)]);
        m.mean += value / static_cast<double>(range.size());
        squares += value * value / static_cast<double>(range.size());
        m.largest = std::max(m.largest, std::abs(value));
      }
      m.deviation = std::sqrt(std::max(0.0, squares - m.mean * m.mean));
      result[parameter.name] = m;
    }
  }
  return result;
}

}  // namespace

TEST_CASE("norms start as the identity, biases at 0, products as wide as their fan-in says") {
  auto resnet = start_of("resnet18");
  CHECK(resnet["stem.norm.weight"].mean == 1);
  CHECK(resnet["stem.norm.weight"].deviation == 0);
  CHECK(resnet["stem.norm.bias"].largest == 0);
  CHECK(resnet["head.bias"].largest == 0);
  CHECK(resnet["head.weight"].deviation == Approx(std::sqrt(1 / 3.0 / 512)).epsilon(0.05));
  CHECK(resnet["stage2a.2.conv.weight"].deviation ==
        Approx(std::sqrt(1 / 3.0 / (9 * 128))).epsilon(0.01));
  CHECK(std::abs(resnet["stage2a.2.conv.weight"].mean) < 1e-3);
}

TEST_CASE("what is added to gpt's stream starts smaller by the root of the number of additions") {
  auto gpt = start_of("gpt");
  const double plain = std::sqrt(1 / 3.0 / 256);
  CHECK(gpt["block0.qkv.weight"].deviation == Approx(plain).epsilon(0.01));
  CHECK(gpt["block0.project.weight"].deviation == Approx(plain / std::sqrt(8.0)).epsilon(0.01));
  CHECK(gpt["block3.down.weight"].deviation ==
        Approx(std::sqrt(1 / 3.0 / 1024) / std::sqrt(8.0)).epsilon(0.01));
  CHECK(gpt["embedding.weight"].deviation == Approx(0.02).epsilon(0.01));
  CHECK(gpt["embedding.positions"].deviation == Approx(0.02).epsilon(0.01));
  CHECK(gpt["block1.norm2.weight"].mean == 1);
}

TEST_CASE("another seed gives other weights, the same seed the same") {
  auto a = start_of("lenet", 1), b = start_of("lenet", 1), c = start_of("lenet", 2);
  CHECK(a["fc1.weight"].mean == b["fc1.weight"].mean);
  CHECK(a["fc1.weight"].mean != c["fc1.weight"].mean);
}
