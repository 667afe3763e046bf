// A user's network as JSON: what is read is what was written, and what is wrong is told with its
// line and column. The schema and the reader refuse the same.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/workloads/workloads.hpp"
#include "reports/report.hpp"
#include "reports/workload_file.hpp"
#include "tests/catch.hpp"
#include "tests/reports/schema_check.hpp"

using namespace plimsoll;
using namespace plimsoll::reports;
using Catch::Matchers::Contains;
using json = nlohmann::ordered_json;

namespace {

const std::string kExamples = PLIMSOLL_SOURCE_DIR "/tests/data/workloads/";

// Every kind of operator and every attribute, none as it is without being given.
Workload everything() {
  GraphBuilder g({8, 8, 4});
  int x = g.convolution("conv", g.input(), 8, 3, 2, 1, false, 4);
  x = g.batch_norm("norm", x, 1e-3, 0.25);
  const int pooled = g.pool("max", g.input(), Pool::Mode::max, 3, 2, 1);
  const int wide = g.convolution("wide", pooled, 8, 1);
  x = g.add("sum", x, g.pool("average", wide, Pool::Mode::average, 1, 1));
  x = g.relu("relu", g.gelu("gelu", x, Gelu::Form::erf));
  x = g.layer_norm("layer", g.reshape("rows", x, {16, 8}), 1e-4);
  x = g.attention("attention", g.linear("qkv", x, 24, false), 2, false);
  x = g.linear("head", g.flatten("flat", g.dropout("drop", x, 0.125)), 5);
  g.softmax_cross_entropy("loss", x);
  return {.name = "all \"kinds\"",
          .description = "for a test",
          .graph = std::move(g).build(),
          .sample_shape = {8, 8, 4},
          .classes = 5,
          .dataset = "synthetic",
          .default_learning_rate = 0.125,
          .default_optimizer = "adam"};
}

json example() { return json::parse(read_text(kExamples + "small-residual.json")); }

// The reader's words, "" when it accepts; the schema has to agree unless told otherwise.
std::string refusal(const json& document, bool schema_too = true) {
  const std::string text = document.dump(1);
  const bool misfit = !testing::schema_errors(text, "workload").empty();
  try {
    static_cast<void>(workload_from_json(text, "my.json"));
  } catch (const Error& error) {
    CHECK(misfit == schema_too);
    return error.problem() + " @ " + error.where() + " @ " + error.fix();
  }
  CHECK_FALSE(misfit);
  return "";
}

}  // namespace

TEST_CASE("what is written is read again: built-in workloads and every attribute") {
  std::vector<Workload> all = {everything()};
  for (const char* name : {"mlp", "lenet", "resnet18", "resnet18:image=224,classes=1000",
                           "gpt:nano", "gpt:nano,tied=yes,dropout=0.1"}) {
    all.push_back(workload_named(name));
  }
  std::set<std::string> hashes;
  for (const Workload& workload : all) {
    INFO(workload.name);
    const std::string text = workload_to_json(workload);
    CHECK(testing::schema_errors(text, "workload").empty());
    const Workload read = workload_from_json(text, "test");
    CHECK(workload_to_json(read) == text);
    CHECK(read.name == workload.name);
    CHECK(read.description == workload.description);
    CHECK(read.sample_shape == workload.sample_shape);
    CHECK(read.classes == workload.classes);
    CHECK(read.dataset == workload.dataset);
    CHECK(read.default_learning_rate == workload.default_learning_rate);
    CHECK(read.default_optimizer == workload.default_optimizer);
    REQUIRE(read.graph.ops.size() == workload.graph.ops.size());
    for (std::size_t i = 0; i < read.graph.ops.size(); ++i) {
      const Op& a = read.graph.ops[i];
      const Op& b = workload.graph.ops[i];
      CHECK(a.name == b.name);
      CHECK(kind_of(a) == kind_of(b));
      CHECK(a.inputs == b.inputs);
      CHECK(a.output == b.output);
      CHECK(read.graph.tensors[static_cast<std::size_t>(a.output)].shape ==
            workload.graph.tensors[static_cast<std::size_t>(b.output)].shape);
    }
    CHECK(parameter_count(read.graph) == parameter_count(workload.graph));
    CHECK(training_cost(read.graph, 8, DType::f32).flop.value() ==
          training_cost(workload.graph, 8, DType::f32).flop.value());
    CHECK(graph_sha256(read.graph) == graph_sha256(workload.graph));
    hashes.insert(graph_sha256(workload.graph));
  }
  CHECK(hashes.size() == all.size());
  CHECK(graph_sha256(workload_named("gpt").graph) ==
        graph_sha256(workload_named("gpt:layers=4,width=256").graph));
}

TEST_CASE("the examples are read, and mean what they say") {
  const Workload residual = resolve_workload(kExamples + "small-residual.json").workload;
  CHECK(residual.classes == 10);
  CHECK(residual.dataset == "fashion-mnist");
  CHECK(residual.default_learning_rate == 0.05);
  // By hand: 144 + 32 + (576 + 16) + 32 + (4608 + 32) + (512 + 32) + (512 + 32) + (320 + 10).
  CHECK(parameter_count(residual.graph) == 6858);
  const Workload decoder = resolve_workload(kExamples + "parallel-decoder.json").workload;
  CHECK(decoder.graph.tensors[0].tokens);
  CHECK(decoder.dataset == "text");
  // 256 x 32 + 32 x 32 + 64 + (3072 + 96) + (1024 + 32) + (4096 + 128) + 4096 + 64; the head is
  // tied.
  CHECK(parameter_count(decoder.graph) == 21888);
  for (const char* name : {"small-residual.json", "parallel-decoder.json"}) {
    CHECK(testing::schema_errors(read_text(kExamples + name), "workload").empty());
  }
}

TEST_CASE("one function tells names and files apart") {
  const std::string path = kExamples + "small-residual.json";
  const ResolvedWorkload file = resolve_workload(path);
  CHECK(file.text == read_text(path));
  CHECK(workload_to_json(workload_of(path, file.text)) == workload_to_json(file.workload));
  const ResolvedWorkload built_in = resolve_workload("gpt:nano");
  CHECK(built_in.text.empty());
  CHECK(workload_to_json(workload_of("gpt:nano", "")) == workload_to_json(built_in.workload));
  CHECK_THROWS_WITH(resolve_workload("absent.json"), Contains("absent.json"));
  CHECK_THROWS_WITH(resolve_workload("./absent"), Contains("./absent"));
  CHECK_THROWS_WITH(resolve_workload("absent"), Contains("unknown workload"));
}

TEST_CASE("what is wrong is told with line and column, and what is possible") {
  REQUIRE(refusal(example()).empty());
  const auto changed = [](const char* pointer, const json& value) {
    json document = example();
    document[json::json_pointer(pointer)] = value;
    return document;
  };
  CHECK_THAT(refusal(changed("/schema", "plimsoll.workload/2.0")),
             Contains("2.0") && Contains("my.json, line 2"));
  CHECK_THAT(refusal(changed("/name", "")), Contains("empty"));
  CHECK_THAT(refusal(changed("/colour", 1)), Contains("\"colour\"") && Contains("learning_rate"));
  CHECK_THAT(refusal(changed("/operators/0/kind", "deconvolution")),
             Contains("\"deconvolution\"") && Contains("layer_norm, linear, max_pool"));
  CHECK_THAT(refusal(changed("/operators/0/dilation", 2)),
             Contains("\"dilation\"") && Contains("groups"));
  CHECK_THAT(refusal(changed("/operators/0/kernel", 0)), Contains("\"kernel\" cannot be 0"));
  CHECK_THAT(refusal(changed("/operators/0/kernel", "3")), Contains("expected an integer"));
  CHECK_THAT(refusal(changed("/operators/0/kernel", 2.5)), Contains("found a number"));
  CHECK_THAT(refusal(changed("/operators/0/bias", 0)), Contains("expected true or false"));
  CHECK_THAT(refusal(changed("/operators/0/padding", 4294967296)), Contains("4294967296"));
  CHECK_THAT(refusal(changed("/operators/16/rate", 1)), Contains("rate from 0"));
  CHECK_THAT(refusal(changed("/operators/13/form", "sigmoid")), Contains("use tanh, erf"));
  CHECK_THAT(refusal(changed("/operators/5/inputs", json{"a.norm"})), Contains("two operators"));
  CHECK_THAT(refusal(changed("/input/shape", json::array())), Contains("0 sides"));
  CHECK_THAT(refusal(changed("/input/tokens", 5)), Contains("\"shape\""));
  CHECK_THAT(refusal(changed("/operators", json::array())), Contains("at least one"));
  CHECK_THAT(refusal(changed("/learning_rate", 0)), Contains("above 0"));
  CHECK_THAT(refusal(changed("/dataset", "imagenet")), Contains("use fashion-mnist, synthetic"));
  json document = example();
  document.erase("input");
  CHECK_THAT(refusal(document), Contains("\"input\" is missing"));
}

TEST_CASE("networks that do not fit together are refused at the operator's place") {
  // The schema knows nothing of these.
  const auto refused = [](const char* pointer, const json& value) {
    json document = example();
    document[json::json_pointer(pointer)] = value;
    return refusal(document, false);
  };
  CHECK_THAT(refused("/operators/0/groups", 3),
             Contains("'stem'") && Contains("3 groups") && Contains("line 16, column"));
  CHECK_THAT(refused("/operators/5/inputs/1", "stem.rely"), Contains("\"stem.rely\""));
  CHECK_THAT(refused("/operators/8/input", "b.add1"), Contains("before this one"));  // a loop
  CHECK_THAT(refused("/operators/5/inputs/1", "input"), Contains("adds [28x28x1]"));
  CHECK_THAT(refused("/operators/1/name", "stem"), Contains("named 'stem'"));
  CHECK_THAT(refused("/operators/9/input", "b.conv"), Contains("adds"));
  CHECK_THAT(refused("/input/shape", {2147483647, 2147483647, 2147483647}), Contains("2^63"));
  CHECK_THAT(refused("/operators/18/kind", "relu"), Contains("not the loss"));
  CHECK_THAT(refused("/dataset", "text"), Contains("use fashion-mnist"));
  json idle = example();
  idle["operators"].insert(idle["operators"].begin() + 3,
                           json{{"name", "unread"}, {"kind", "relu"}, {"input", "stem"}});
  idle["operators"][4]["input"] = "stem.relu";
  CHECK_THAT(refusal(idle, false), Contains("'unread'"));
  json nothing = example();
  nothing["operators"] = {{{"name", "flat"}, {"kind", "flatten"}},
                          {{"name", "loss"}, {"kind", "softmax_cross_entropy"}}};
  CHECK_THAT(refusal(nothing, false), Contains("nothing to train"));
  CHECK_THROWS_WITH(workload_from_json("{\"schema\": 1, \"schema\": 2}", "my.json"),
                    Contains("appears twice"));
}

TEST_CASE("the network shown in core/workloads/README.md is one") {
  const std::string page = read_text(PLIMSOLL_SOURCE_DIR "/core/workloads/README.md");
  const std::size_t begin = page.find("```json\n") + 8;
  REQUIRE(begin > 8);
  const std::string text = page.substr(begin, page.find("```", begin) - begin);
  const Workload workload = workload_from_json(text, "README.md");
  CHECK(workload.name == "my-network");
  CHECK(parameter_count(workload.graph) > 4000);
  CHECK(testing::schema_errors(text, "workload").empty());
}
