// JSON text to a workload: every refusal says where in the file.

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "core/workloads/workloads.hpp"
#include "reports/json_value.hpp"
#include "reports/report.hpp"
#include "reports/workload_file.hpp"

namespace plimsoll::reports {
namespace {

constexpr std::int64_t kMost = 2147483647;
const char* const kSchemaHint = "see plimsoll schema workload";

// The fields of one object: each is asked for by name, and what is left over is refused.
class Fields {
 public:
  Fields(const Document& document, const Value& object) : document_(document), object_(object) {
    expect(object, Value::Type::object, "");
  }

  [[nodiscard]] const Value* find(const std::string& key) {
    asked_.insert(key);
    return object_.find(key);
  }
  [[nodiscard]] const Value& need(const std::string& key) {
    const Value* const value = find(key);
    if (value == nullptr) fail(object_, fmt::format("\"{}\" is missing", key), kSchemaHint);
    return *value;
  }
  [[nodiscard]] std::string text(const std::string& key, std::optional<std::string> usual = {}) {
    const Value* const value = usual ? find(key) : &need(key);
    if (value == nullptr) return *usual;
    expect(*value, Value::Type::string, key);
    return value->text;
  }
  [[nodiscard]] std::string one_of(const std::string& key, const std::string& usual,
                                   const std::vector<std::string>& words) {
    const std::string word = text(key, usual);
    std::string known;
    for (const std::string& one : words) {
      if (one == word) return word;
      known += (known.empty() ? "" : ", ") + one;
    }
    fail(*object_.find(key), fmt::format("\"{}\" cannot be \"{}\"", key, word), "use " + known);
  }
  [[nodiscard]] std::int64_t count(const std::string& key, std::int64_t least,
                                   std::optional<std::int64_t> usual = {}) {
    const Value* const value = usual ? find(key) : &need(key);
    return value == nullptr ? *usual : integer(*value, key, least);
  }
  [[nodiscard]] bool yes(const std::string& key, bool usual) {
    const Value* const value = find(key);
    if (value == nullptr) return usual;
    expect(*value, Value::Type::boolean, key);
    return value->boolean;
  }
  [[nodiscard]] double number(const std::string& key, std::optional<double> usual = {}) {
    const Value* const value = usual ? find(key) : &need(key);
    if (value == nullptr) return *usual;
    if (value->type != Value::Type::integer) expect(*value, Value::Type::real, key);
    return value->real;
  }
  [[nodiscard]] Shape shape(const std::string& key) {
    const Value& value = need(key);
    expect(value, Value::Type::array, key);
    Shape sides;
    for (const Value& side : value.items) sides.push_back(integer(side, key, 1));
    if (sides.empty() || sides.size() > 3) {
      fail(value, fmt::format("\"{}\" has {} sides", key, sides.size()), "give one, two or three");
    }
    return sides;
  }
  void finish() const {
    for (const auto& [key, index] : object_.members) {
      if (asked_.contains(key)) continue;
      std::string known;
      for (const std::string& one : asked_) known += (known.empty() ? "" : ", ") + one;
      fail(object_.items[index], fmt::format("there is no \"{}\" here", key), "possible: " + known);
    }
  }
  [[noreturn]] void fail(const Value& at, const std::string& what, const std::string& fix) const {
    throw Error(what, document_.place(at.offset), fix);
  }
  [[nodiscard]] const Value& object() const { return object_; }

 private:
  void expect(const Value& value, Value::Type type, const std::string& key) const {
    if (value.type == type) return;
    const std::string name = key.empty() ? "" : fmt::format("\"{}\": ", key);
    fail(value,
         fmt::format("{}expected {}, found {}", name, type_name(type), type_name(value.type)),
         kSchemaHint);
  }
  [[nodiscard]] std::int64_t integer(const Value& value, const std::string& key,
                                     std::int64_t least) const {
    expect(value, Value::Type::integer, key);
    if (value.integer < least || value.integer > kMost) {
      fail(value, fmt::format("\"{}\" cannot be {}", key, value.integer),
           fmt::format("use a whole number from {} to {}", least, kMost));
    }
    return value.integer;
  }

  const Document& document_;
  const Value& object_;
  std::set<std::string> asked_;
};

// Builds operators and knows their outputs by name.
class Network {
 public:
  explicit Network(GraphBuilder builder) : g_(std::move(builder)) { known_["input"] = g_.input(); }
  void add(Fields& fields);
  [[nodiscard]] Graph build() && { return std::move(g_).build(); }

 private:
  using Make = int (Network::*)(Fields&, const std::string& name);
  int source(Fields& fields);
  [[nodiscard]] int tensor(Fields& fields, const Value& name) const;

  int linear(Fields& f, const std::string& name) {
    const int x = source(f);
    if (f.find("tied_to") != nullptr) return g_.tied_linear(name, x, f.text("tied_to"));
    const std::int64_t out = f.count("out_features", 1);
    return g_.linear(name, x, out, f.yes("bias", true));
  }
  int convolution(Fields& f, const std::string& name) {
    const int x = source(f);
    const std::int64_t out = f.count("out_channels", 1), kernel = f.count("kernel", 1);
    const std::int64_t stride = f.count("stride", 1, 1), padding = f.count("padding", 0, 0);
    const bool bias = f.yes("bias", true);
    return g_.convolution(name, x, out, kernel, stride, padding, bias, f.count("groups", 1, 1));
  }
  int pool(Fields& f, const std::string& name, Pool::Mode mode) {
    const int x = source(f);
    const std::int64_t kernel = f.count("kernel", 1);
    const std::int64_t stride = f.count("stride", 1, kernel);
    return g_.pool(name, x, mode, kernel, stride, f.count("padding", 0, 0));
  }
  int max_pool(Fields& f, const std::string& name) { return pool(f, name, Pool::Mode::max); }
  int average_pool(Fields& f, const std::string& name) {
    return pool(f, name, Pool::Mode::average);
  }
  int batch_norm(Fields& f, const std::string& name) {
    const int x = source(f);
    const double epsilon = f.number("epsilon", BatchNorm{}.epsilon);
    return g_.batch_norm(name, x, epsilon, f.number("momentum", BatchNorm{}.momentum));
  }
  int layer_norm(Fields& f, const std::string& name) {
    const int x = source(f);
    return g_.layer_norm(name, x, f.number("epsilon", LayerNorm{}.epsilon));
  }
  int relu(Fields& f, const std::string& name) { return g_.relu(name, source(f)); }
  int gelu(Fields& f, const std::string& name) {
    const int x = source(f);
    const bool tanh = f.one_of("form", "tanh", {"tanh", "erf"}) == "tanh";
    return g_.gelu(name, x, tanh ? Gelu::Form::tanh : Gelu::Form::erf);
  }
  int add_two(Fields& f, const std::string& name) {
    const Value& both = f.need("inputs");
    if (both.type != Value::Type::array || both.items.size() != 2) {
      f.fail(both, "\"inputs\" of an add are the names of two operators", kSchemaHint);
    }
    const int left = tensor(f, both.items[0]);
    return g_.add(name, left, tensor(f, both.items[1]));
  }
  int embedding(Fields& f, const std::string& name) {
    const int x = source(f);
    const std::int64_t vocabulary = f.count("vocabulary", 1), features = f.count("features", 1);
    return g_.embedding(name, x, vocabulary, features, f.yes("positions", true));
  }
  int attention(Fields& f, const std::string& name) {
    const int x = source(f);
    const std::int64_t heads = f.count("heads", 1);
    return g_.attention(name, x, heads, f.yes("causal", true));
  }
  int dropout(Fields& f, const std::string& name) {
    const int x = source(f);
    return g_.dropout(name, x, f.number("rate"));
  }
  int reshape(Fields& f, const std::string& name) {
    const int x = source(f);
    return g_.reshape(name, x, f.shape("shape"));
  }
  int flatten(Fields& f, const std::string& name) { return g_.flatten(name, source(f)); }
  int softmax_cross_entropy(Fields& f, const std::string& name) {
    return g_.softmax_cross_entropy(name, source(f));
  }

  static const std::map<std::string, Make>& kinds();

  GraphBuilder g_;
  std::map<std::string, int> known_;
  int last_ = 0;
};

const std::map<std::string, Network::Make>& Network::kinds() {
  static const std::map<std::string, Make> kTable = {
      {"linear", &Network::linear},
      {"convolution", &Network::convolution},
      {"max_pool", &Network::max_pool},
      {"average_pool", &Network::average_pool},
      {"batch_norm", &Network::batch_norm},
      {"layer_norm", &Network::layer_norm},
      {"relu", &Network::relu},
      {"gelu", &Network::gelu},
      {"add", &Network::add_two},
      {"embedding", &Network::embedding},
      {"attention", &Network::attention},
      {"dropout", &Network::dropout},
      {"reshape", &Network::reshape},
      {"flatten", &Network::flatten},
      {"softmax_cross_entropy", &Network::softmax_cross_entropy},
  };
  return kTable;
}

int Network::tensor(Fields& fields, const Value& name) const {
  const auto found = known_.find(name.text);
  if (name.type == Value::Type::string && found != known_.end()) return found->second;
  fields.fail(name, fmt::format("no operator before this one is called \"{}\"", name.text),
              "name \"input\" or an operator above");
}

int Network::source(Fields& fields) {
  const Value* const name = fields.find("input");
  return name == nullptr ? last_ : tensor(fields, *name);
}

void Network::add(Fields& fields) {
  const std::string name = fields.text("name");
  const std::string kind = fields.text("kind");
  const auto found = kinds().find(kind);
  if (found == kinds().end()) {
    std::string known;
    for (const auto& [one, make] : kinds()) known += (known.empty() ? "" : ", ") + one;
    fields.fail(*fields.find("kind"), fmt::format("there is no operator \"{}\"", kind),
                "possible: " + known);
  }
  if (name.empty() || name == "input") {
    fields.fail(*fields.find("name"), fmt::format("no operator can be called \"{}\"", name),
                "choose another name");
  }
  try {
    last_ = (this->*found->second)(fields, name);
  } catch (const Error& misfit) {
    // What the builder says lacks the place in the file.
    if (misfit.where() != "workload graph") throw;
    fields.fail(fields.object(), misfit.problem(), misfit.fix());
  }
  known_[name] = last_;
  fields.finish();
}

GraphBuilder input_of(const Document& document, const Value& value, Shape& sample) {
  Fields fields(document, value);
  const bool tokens = fields.find("tokens") != nullptr;
  sample = tokens ? Shape{fields.count("tokens", 1)} : fields.shape("shape");
  fields.finish();
  try {
    static_cast<void>(elements(sample));
  } catch (const Error& error) {
    fields.fail(value, error.problem(), error.fix());
  }
  return GraphBuilder(sample, tokens);
}

Graph graph_of(Fields& top, const Document& document, Shape& sample) {
  Network network(input_of(document, top.need("input"), sample));
  const Value& operators = top.need("operators");
  if (operators.type != Value::Type::array || operators.items.empty()) {
    top.fail(operators, "\"operators\" is a list of at least one", kSchemaHint);
  }
  for (const Value& one : operators.items) {
    Fields fields(document, one);
    network.add(fields);
  }
  try {
    Graph graph = std::move(network).build();
    if (kind_of(graph.ops.back()) != "softmax_cross_entropy") {
      top.fail(operators.items.back(), "the last operator is not the loss",
               "end with a softmax_cross_entropy");
    }
    if (parameter_count(graph) == 0) {
      top.fail(operators, "no operator has parameters: there is nothing to train",
               "add a linear, a convolution, a norm or an embedding");
    }
    return graph;
  } catch (const Error& misfit) {
    if (misfit.where() != "workload graph") throw;
    top.fail(operators, misfit.problem(), misfit.fix());
  }
}

}  // namespace

Workload workload_from_json(std::string_view text, const std::string& where) {
  const Document document = parse_json(text, where);
  Fields top(document, document.root);
  if (const std::string schema = top.text("schema"); schema != kWorkloadSchemaName) {
    top.fail(*top.find("schema"), fmt::format("\"{}\" is another format", schema),
             fmt::format("this program reads {}", kWorkloadSchemaName));
  }
  Workload workload;
  workload.name = top.text("name");
  if (workload.name.empty()) top.fail(*top.find("name"), "\"name\" is empty", "give it a name");
  workload.description = top.text("description", "");
  workload.graph = graph_of(top, document, workload.sample_shape);
  workload.classes = std::get<SoftmaxCrossEntropy>(workload.graph.ops.back().attributes).classes;
  const bool tokens = workload.graph.tensors[0].tokens;
  workload.dataset = tokens ? top.one_of("dataset", "text", {"text", "synthetic"})
                            : top.one_of("dataset", "synthetic", {"fashion-mnist", "synthetic"});
  workload.default_optimizer = top.one_of("optimizer", "sgd", {"sgd", "adam", "adamw"});
  workload.default_learning_rate = top.number("learning_rate", 0.02);
  if (!(workload.default_learning_rate > 0)) {
    top.fail(*top.find("learning_rate"), "\"learning_rate\" is not above 0", "use 0.02 or so");
  }
  top.finish();
  return workload;
}

ResolvedWorkload resolve_workload(const std::string& word) {
  if (!word.ends_with(".json") && word.find('/') == std::string::npos) {
    return {.workload = workload_named(word), .text = {}};
  }
  std::string text = read_text(word);
  Workload workload = workload_of(word, text);
  return {.workload = std::move(workload), .text = std::move(text)};
}

Workload workload_of(const std::string& word, const std::string& text) {
  return text.empty() ? workload_named(word) : workload_from_json(text, word);
}

}  // namespace plimsoll::reports
