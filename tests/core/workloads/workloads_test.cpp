// The built-in workloads against published parameter counts and counts by hand; their options.

#include "core/workloads/workloads.hpp"

#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "tests/catch.hpp"

using namespace plimsoll;
using Catch::Matchers::Contains;

namespace {

std::int64_t parameters(const std::string& workload) {
  return parameter_count(workload_named(workload).graph);
}

const Op& op_named(const Graph& graph, const std::string& name) {
  for (const Op& op : graph.ops) {
    if (op.name == name) return op;
  }
  FAIL("no operator " << name);
  return graph.ops.front();
}

Shape output_of(const Graph& graph, const std::string& name) {
  return graph.tensors[static_cast<std::size_t>(op_named(graph, name).output)].shape;
}

// Products of linear layers and convolutions in a training step, as PyTorch's users count them.
double product_flop(const Graph& graph, std::int64_t batch) {
  double total = 0;
  for (const Op& op : graph.ops) {
    if (op.parameters.empty() || !(std::holds_alternative<Linear>(op.attributes) ||
                                   std::holds_alternative<Convolution>(op.attributes))) {
      continue;
    }
    const double product =
        cost_of(graph, op, Direction::backward_data, batch, DType::f32).flop.value();
    total += 2 * product;
    if (needs_input_gradient(graph, op)) total += product;
  }
  return total;
}

int count_of(const Graph& graph, const std::string& kind) {
  int count = 0;
  for (const Op& op : graph.ops) count += kind_of(op) == kind ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("resnet18 has the published parameter counts, and shapes that halve by stage") {
  CHECK(parameters("resnet18") == 11'173'962);
  CHECK(parameters("resnet18:image=32,classes=10") == 11'173'962);
  CHECK(parameters("resnet18:image=224,classes=1000") == 11'689'512);
  const Graph small = workload_named("resnet18").graph;
  CHECK(output_of(small, "stem.relu") == Shape{32, 32, 64});
  CHECK(output_of(small, "stage1b.relu2") == Shape{32, 32, 64});
  CHECK(output_of(small, "stage4b.relu2") == Shape{4, 4, 512});
  CHECK(output_of(small, "pool") == Shape{1, 1, 512});
  const Graph large = workload_named("resnet18:image=224,classes=1000").graph;
  CHECK(output_of(large, "stem.relu") == Shape{112, 112, 64});
  CHECK(output_of(large, "stem.pool") == Shape{56, 56, 64});
  CHECK(output_of(large, "stage4b.relu2") == Shape{7, 7, 512});
  CHECK(output_of(large, "pool") == Shape{1, 1, 512});
  CHECK(count_of(small, "convolution") == 20);  // 17 of the 18 layers, 3 on skips
  CHECK(count_of(small, "batch_norm") == 20);
  CHECK(count_of(small, "add") == 8);
  CHECK(count_of(small, "max_pool") == 0);
  CHECK(count_of(large, "max_pool") == 1);
}

TEST_CASE("resnet18 can be built for every image side, odd ones too") {
  for (const int side : {8, 28, 33, 64, 65, 97, 225, 227}) {
    const Workload workload = workload_named("resnet18:image=" + std::to_string(side));
    CHECK(output_of(workload.graph, "pool") == Shape{1, 1, 512});
    CHECK(workload.sample_shape == Shape{side, side, 3});
  }
}

TEST_CASE("a step of resnet18 at batch 64 costs 213.056 GFLOP in products") {
  // Counted with hooks on the PyTorch form of the same network.
  CHECK(product_flop(workload_named("resnet18").graph, 64) == Approx(213.056e9).epsilon(1e-5));
}

TEST_CASE("gpt has the published parameter counts") {
  CHECK(parameters("gpt") == 3'323'392);
  CHECK(parameters("gpt:layers=4,width=256,heads=4,sequence=128,vocabulary=256") == 3'323'392);
  CHECK(parameters("gpt:gpt2-124m") == 124'439'808);
  CHECK(parameters("gpt:gpt2-355m") == 354'823'168);
  CHECK(parameters("gpt:gpt2-774m") == 774'030'080);
  CHECK(parameters("gpt:gpt2-1.5b") == 1'557'611'200);
  CHECK(parameters("gpt:gpt3-175b") == Approx(175e9).epsilon(0.005));
  CHECK(parameters("gpt:gpt-1t") == Approx(1.008e12).epsilon(0.001));
  // By hand: 2 V d + T d + L (12 d^2 + 13 d) + 2 d.
  CHECK(parameters("gpt:nano") == 2 * 256 * 48 + 64 * 48 + 3 * (12 * 48 * 48 + 13 * 48) + 2 * 48);
  CHECK(parameters("gpt:nano,tied=yes") == parameters("gpt:nano") - 256 * 48);
}

TEST_CASE("a step of gpt at batch 8 costs 21.341 GFLOP in products, attention included") {
  const Graph graph = workload_named("gpt").graph;
  const double attention = 3.0 * 4 * 2 * (2.0 * 8 * 128 * 128 * 256);
  CHECK(product_flop(graph, 8) + attention == Approx(21.341e9).epsilon(1e-4));
}

TEST_CASE("gpt's shapes, and where dropout stands") {
  const Workload workload = workload_named("gpt:nano,sequence=32,dropout=0.1");
  const Graph& graph = workload.graph;
  CHECK(graph.tensors[0].tokens);
  CHECK(workload.sample_shape == Shape{32});
  CHECK(workload.classes == 256);
  CHECK(workload.dataset == "text");
  CHECK(output_of(graph, "block0.qkv") == Shape{32, 144});
  CHECK(output_of(graph, "block2.add2") == Shape{32, 48});
  CHECK(output_of(graph, "head") == Shape{32, 256});
  CHECK(output_of(graph, "loss") == Shape{});
  CHECK(count_of(graph, "dropout") == 1 + 2 * 3);
  CHECK(count_of(workload_named("gpt:nano").graph, "dropout") == 0);
}

TEST_CASE("a workload is named as it was asked for") {
  CHECK(workload_named("gpt:nano").name == "gpt:nano");
  CHECK(workload_named("resnet18:image=64").name == "resnet18:image=64");
  CHECK(workload_named("mlp").name == "mlp");
  std::set<std::string> names;
  for (const WorkloadEntry& entry : workloads()) names.insert(entry.name);
  CHECK(names == std::set<std::string>{"mlp", "lenet", "resnet18", "gpt"});
}

TEST_CASE("options that do not exist or cannot be are refused with what is possible") {
  const auto problem = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(workload_named(text));
    } catch (const Error& error) {
      CHECK(error.exit_code() == ExitCode::wrong_usage);
      CHECK(error.where() == "--workload");
      return error.problem() + " @ " + error.fix();
    }
    return "no error";
  };
  CHECK_THAT(problem("gpt:depth=3"), Contains("no option 'depth'") && Contains("layers=4") &&
                                         Contains("nano") && Contains("tied=no"));
  CHECK_THAT(problem("gpt:huge"), Contains("'huge'") && Contains("gpt2-124m"));
  CHECK_THAT(problem("gpt:layers=4,nano"), Contains("'nano' is no option"));
  CHECK_THAT(problem("gpt:layers=0"), Contains("layers=0") && Contains("from 1 to 1024"));
  CHECK_THAT(problem("gpt:layers=4x"), Contains("layers=4x"));
  CHECK_THAT(problem("gpt:layers=-1"), Contains("layers=-1"));
  CHECK_THAT(problem("gpt:layers=99999999999999999999"), Contains("99999999999999999999"));
  CHECK_THAT(problem("gpt:layers="), Contains("'layers=' is no option"));
  CHECK_THAT(problem("gpt:layers=2,layers=3"), Contains("given twice"));
  CHECK_THAT(problem("gpt:nano,"), Contains("'' is no option"));
  CHECK_THAT(problem("gpt:width=250,heads=4"), Contains("width 250 and 4 heads"));
  CHECK_THAT(problem("gpt:tied=maybe"), Contains("yes or no"));
  CHECK_THAT(problem("gpt:dropout=1"), Contains("from 0 to below 1"));
  CHECK_THAT(problem("resnet18:image=4"), Contains("image=4") && Contains("from 8"));
  CHECK_THAT(problem("resnet18:nano"), Contains("no option 'nano'") && Contains("image=32"));
  CHECK_THAT(problem("mlp:width=3"), Contains("no options"));
  CHECK_THAT(problem("alexnet:x=1"), Contains("mlp, lenet, resnet18, gpt") && Contains("JSON"));
  CHECK(workload_named("mlp:").name == "mlp:");
}
