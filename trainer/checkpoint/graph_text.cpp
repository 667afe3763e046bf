// One line an operator: name, kind, attributes, tensors, parameters, state.

#include <sstream>

#include "trainer/checkpoint/checkpoint.hpp"

namespace plimsoll::trainer {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

void write(std::ostream& out, const Shape& shape) {
  for (std::size_t i = 0; i < shape.size(); ++i) out << (i == 0 ? "" : "x") << shape[i];
}

void write(std::ostream& out, const OpAttributes& attributes) {
  std::visit(
      Overloaded{[&](const Linear& a) { out << a.bias << ' ' << a.tied_to; },
                 [&](const Convolution& a) {
                   out << a.kernel << ' ' << a.stride << ' ' << a.padding << ' ' << a.bias << ' '
                       << a.groups;
                 },
                 [&](const Pool& a) { out << a.kernel << ' ' << a.stride << ' ' << a.padding; },
                 [&](const BatchNorm& a) { out << a.epsilon << ' ' << a.momentum; },
                 [&](const LayerNorm& a) { out << a.epsilon; }, [](const Relu&) {},
                 [&](const Gelu& a) { out << (a.form == Gelu::Form::tanh ? "tanh" : "erf"); },
                 [](const Add&) {},
                 [&](const Embedding& a) { out << a.vocabulary << ' ' << a.positions; },
                 [&](const Attention& a) { out << a.heads << ' ' << a.causal; },
                 [&](const Dropout& a) { out << a.rate; }, [](const Reshape&) {},
                 [](const SoftmaxCrossEntropy&) {}},
      attributes);
}

}  // namespace

std::string graph_text(const Graph& graph) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(17);
  for (const Tensor& tensor : graph.tensors) {
    write(out, tensor.shape);
    out << (tensor.tokens ? " tokens;" : ";");
  }
  out << '\n';
  for (const Op& op : graph.ops) {
    out << op.name << ' ' << kind_of(op) << " (";
    write(out, op.attributes);
    out << ')';
    for (const int input : op.inputs) out << ' ' << input;
    out << " -> " << op.output;
    for (const auto* list : {&op.parameters, &op.state}) {
      for (const Parameter& parameter : *list) {
        out << ' ' << parameter.name << ' ';
        write(out, parameter.shape);
      }
    }
    out << '\n';
  }
  return out.str();
}

std::vector<Parameter> parameters_of(const Graph& graph) {
  std::vector<Parameter> result;
  for (const Op& op : graph.ops) {
    result.insert(result.end(), op.parameters.begin(), op.parameters.end());
  }
  return result;
}

}  // namespace plimsoll::trainer
