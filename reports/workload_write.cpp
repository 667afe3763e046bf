// A workload to JSON text, one operator a line.

#include <nlohmann/json.hpp>

#include "reports/report.hpp"
#include "reports/workload_file.hpp"

namespace plimsoll::reports {
namespace {

using Json = nlohmann::ordered_json;

// Attributes that differ from what they are without being given.
struct Attributes {
  Json& json;
  template <class T>
  void optional(const char* key, const T& value, const T& usual) const {
    if (value != usual) json[key] = value;
  }
  void operator()(const Linear& a) const {
    if (!a.tied_to.empty()) {
      json["tied_to"] = a.tied_to;
      return;
    }
    json["out_features"] = a.out_features;
    optional("bias", a.bias, true);
  }
  void operator()(const Convolution& a) const {
    json["out_channels"] = a.out_channels;
    json["kernel"] = a.kernel;
    optional("stride", a.stride, std::int64_t{1});
    optional("padding", a.padding, std::int64_t{0});
    optional("bias", a.bias, true);
    optional("groups", a.groups, std::int64_t{1});
  }
  void operator()(const Pool& a) const {
    json["kernel"] = a.kernel;
    optional("stride", a.stride, a.kernel);
    optional("padding", a.padding, std::int64_t{0});
  }
  void operator()(const BatchNorm& a) const {
    optional("epsilon", a.epsilon, BatchNorm{}.epsilon);
    optional("momentum", a.momentum, BatchNorm{}.momentum);
  }
  void operator()(const LayerNorm& a) const { optional("epsilon", a.epsilon, LayerNorm{}.epsilon); }
  void operator()(const Gelu& a) const {
    if (a.form == Gelu::Form::erf) json["form"] = "erf";
  }
  void operator()(const Embedding& a) const {
    json["vocabulary"] = a.vocabulary;
    json["features"] = a.features;
    optional("positions", a.positions, true);
  }
  void operator()(const Attention& a) const {
    json["heads"] = a.heads;
    optional("causal", a.causal, true);
  }
  void operator()(const Dropout& a) const { json["rate"] = a.rate; }
  void operator()(const Reshape& a) const { json["shape"] = a.shape; }
  void operator()(const Relu&) const {}
  void operator()(const Add&) const {}
  void operator()(const SoftmaxCrossEntropy&) const {}
};

std::string name_of(const Graph& graph, int tensor) {
  return graph.tensors[static_cast<std::size_t>(tensor)].name;
}

std::string operators(const Graph& graph, const std::string& indent) {
  std::string text;
  int last = graph.input;
  for (const Op& op : graph.ops) {
    Json json{{"name", op.name}, {"kind", kind_of(op)}};
    if (op.inputs.size() > 1) {
      for (const int tensor : op.inputs) json["inputs"].push_back(name_of(graph, tensor));
    } else if (op.inputs.front() != last) {
      json["input"] = name_of(graph, op.inputs.front());
    }
    std::visit(Attributes{json}, op.attributes);
    text += (text.empty() ? "" : ",\n") + indent + json.dump();
    last = op.output;
  }
  return text;
}

Json input(const Graph& graph) {
  const Tensor& tensor = graph.tensors[static_cast<std::size_t>(graph.input)];
  return tensor.tokens ? Json{{"tokens", elements(tensor.shape)}} : Json{{"shape", tensor.shape}};
}

}  // namespace

std::string workload_to_json(const Workload& workload) {
  std::string text = "{\n";
  const auto field = [&](const char* key, const Json& value) {
    text += "  " + Json(key).dump() + ": " + value.dump() + ",\n";
  };
  field("schema", std::string(kWorkloadSchemaName));
  field("name", workload.name);
  field("description", workload.description);
  field("dataset", workload.dataset);
  field("optimizer", workload.default_optimizer);
  field("learning_rate", workload.default_learning_rate);
  field("input", input(workload.graph));
  return text + "  \"operators\": [\n" + operators(workload.graph, "    ") + "\n  ]\n}\n";
}

std::string graph_sha256(const Graph& graph) {
  return sha256_hex(input(graph).dump() + "\n" + operators(graph, ""));
}

}  // namespace plimsoll::reports
