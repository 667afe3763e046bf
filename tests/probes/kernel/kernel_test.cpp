// The kernel probes through their binaries: metrics as the model reads them, honest sources, and
// shapes that belong to no network that we predict.

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <variant>

#include "core/workload.hpp"
#include "core/workloads/workloads.hpp"
#include "tests/catch.hpp"
#include "tests/probes/run_probe.hpp"

namespace plimsoll::probes {
namespace {

std::vector<std::string> params_of(const Metric& metric) {
  std::vector<std::string> names;
  for (const auto& [name, value] : metric.params) names.push_back(name);
  return names;
}

void is_sound(const ProbeRun& run, std::size_t cases) {
  INFO(run.child.out << run.child.err);
  CHECK(run.child.exit_code == 0);
  REQUIRE(run.metrics.size() == cases);
  for (const Metric& metric : run.metrics) {
    INFO(metric.name << " " << metric.reason);
    CHECK(metric.status == Status::ok);
    CHECK(metric.value.value_or(0) > 0);
    CHECK(metric.checked == true);
    CHECK_FALSE(metric.source.empty());
  }
}

TEST_CASE("kernel.matmul reports what the model reads") {
  const ProbeRun run = run_probe_binary(
      "kernel.matmul", {"--filter", "busy_cores:0/.*dtype:f32/k:8/m:1024/n:8/threads:1"});
  is_sound(run, 3);
  for (const Metric& metric : run.metrics) {
    CHECK(metric.name == "kernel.matmul.rate");
    CHECK(metric.unit == "FLOP/s");
    CHECK(params_of(metric) ==
          std::vector<std::string>{"busy_cores", "direction", "dtype", "k", "m", "n", "threads"});
    CHECK(metric.source.find("oneDNN") != std::string::npos);
  }
}

TEST_CASE("kernel.convolution reports what the model reads") {
  const ProbeRun run = run_probe_binary(
      "kernel.convolution", {"--filter", "batch:16/.*image:8/in_channels:64/kernel:5/"});
  is_sound(run, run.metrics.size());
  CHECK(run.metrics.size() >= 3);
  for (const Metric& metric : run.metrics) {
    CHECK(metric.name == "kernel.convolution.rate");
    CHECK(params_of(metric) == std::vector<std::string>{"batch", "busy_cores", "direction", "dtype",
                                                        "image", "in_channels", "kernel",
                                                        "out_channels", "padding", "stride",
                                                        "threads"});
  }
}

TEST_CASE("kernel.pooling, elementwise and dispatch report what the model reads") {
  const ProbeRun pooling =
      run_probe_binary("kernel.pooling", {"--filter", "batch:16/.*channels:8/"});
  is_sound(pooling, pooling.metrics.size());
  CHECK(params_of(pooling.metrics.at(0)) ==
        std::vector<std::string>{"batch", "busy_cores", "bytes", "channels", "direction", "image",
                                 "kernel", "mode", "stride", "threads"});

  const ProbeRun elementwise =
      run_probe_binary("kernel.elementwise", {"--size", "64K", "--max-time", "20"});
  is_sound(elementwise, elementwise.metrics.size());
  std::set<std::string> operations;
  for (const Metric& metric : elementwise.metrics) {
    operations.insert(std::get<std::string>(metric.params.at("operation")));
  }
  CHECK(operations ==
        std::set<std::string>{"add", "batch_norm_backward", "batch_norm_forward", "dropout",
                              "embedding_backward", "embedding_forward", "gather_u8",
                              "gelu_backward", "gelu_forward", "layer_norm_backward",
                              "layer_norm_forward", "relu_backward", "relu_forward", "sgd_momentum",
                              "softmax_cross_entropy_backward", "softmax_cross_entropy_forward",
                              "softmax_rows_backward", "softmax_rows_forward"});

  const ProbeRun dispatch = run_probe_binary("kernel.dispatch", {});
  is_sound(dispatch, dispatch.metrics.size());
  CHECK(dispatch.metrics.at(0).unit == "s");
}

// "metric/key:value/key:value" -> key: value.
std::map<std::string, std::string> keys_of(const std::string& name) {
  std::map<std::string, std::string> keys;
  const std::regex pair("/([a-z_]+):([^/ ]+)");
  for (auto at = std::sregex_iterator(name.begin(), name.end(), pair); at != std::sregex_iterator();
       ++at) {
    keys[(*at)[1]] = (*at)[2];
  }
  return keys;
}

using Layer = std::vector<std::int64_t>;

std::set<Layer> listed_layers(const std::string& id, const std::vector<std::string>& keys) {
  sys::ChildOptions options;
  options.argv = {probe_path(id), "--list", "--level", "full"};
  options.capture_out = options.capture_err = true;
  options.timeout = Seconds(120);
  const sys::ChildResult child = sys::run_child(options);
  REQUIRE(child.exit_code == 0);
  std::set<Layer> layers;
  std::istringstream lines(child.out);
  for (std::string line; std::getline(lines, line);) {
    auto named = keys_of(line);
    Layer layer;
    for (const std::string& key : keys) layer.push_back(std::stoll(named[key]));
    layers.insert(layer);
  }
  REQUIRE(layers.size() > 20);
  return layers;
}

TEST_CASE("no probe measures a layer of a built-in workload") {
  const auto linear = listed_layers("kernel.matmul", {"n", "k"});
  const auto convolution =
      listed_layers("kernel.convolution", {"in_channels", "out_channels", "kernel", "image"});
  std::size_t seen = 0;
  for (const WorkloadEntry& entry : workloads()) {
    const Workload workload = workload_named(entry.name);
    for (const Op& op : workload.graph.ops) {
      const Shape& x = workload.graph.tensors[static_cast<std::size_t>(op.inputs.front())].shape;
      INFO(workload.name << " " << op.name);
      if (const auto* a = std::get_if<Linear>(&op.attributes)) {
        ++seen;
        CHECK_FALSE(linear.contains(Layer{a->out_features, a->in_features}));
      } else if (const auto* c = std::get_if<Convolution>(&op.attributes)) {
        ++seen;
        CHECK_FALSE(
            convolution.contains(Layer{c->in_channels, c->out_channels, c->kernel, x.front()}));
      }
    }
  }
  CHECK(seen >= 7);
}

}  // namespace
}  // namespace plimsoll::probes
