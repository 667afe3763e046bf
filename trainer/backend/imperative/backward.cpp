// Plays the tape backward.

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "trainer/backend/imperative/session.hpp"

namespace plimsoll::trainer::imperative {

class Backward {
 public:
  Backward(Session& session, const BackwardHooks& hooks)
      : session_(session), hooks_(hooks), gradients_(session.trained_.size()), add_(Add{}) {}

  void run() {
    for (std::size_t i = session_.tape_.size(); i-- > 0;) {
      back(i);
      session_.tape_[i] = {};  // frees what was kept for it
    }
  }

 private:
  using Gradient = Numbers;  // no storage: none yet

  template <class T>
  static bool is(const Node& node) {
    return std::holds_alternative<T>(node.recipe->op().attributes);
  }

  void back(std::size_t i) {
    Node& node = session_.tape_[i];
    Gradient dy = std::move(gradients_[static_cast<std::size_t>(node.output)]);
    gradients_[static_cast<std::size_t>(node.output)] = {};
    const bool norm = is<BatchNorm>(node) || is<LayerNorm>(node);
    if (is<Add>(node) || is<Reshape>(node)) {
      if (node.trained) hand_on(node, dy);
      return;
    }
    if (!node.parameters.empty() && !norm) {
      weights(node, dy);
      ready(i);
    }
    if (norm || (node.trained && !is<Embedding>(node))) data(node, std::move(dy));
    if (norm) ready(i);
  }

  void ready(std::size_t node) {
    if (hooks_.gradients_queued) hooks_.gradients_queued(node, last_);
  }

  void submit(Call&& call) {
    last_ = session_.submit(std::move(call));
    if (hooks_.after_call) hooks_.after_call();
  }

  [[nodiscard]] Call call_of(const Node& node, Direction direction, const Gradient& dy) const {
    Call call{.recipe = node.recipe, .direction = direction, .name = node.name};
    Operands& o = call.operands;
    o.batch = node.recipe->batch;
    o.mode = Mode::train;
    o.x = node.x.view;
    o.y = node.y.view;
    o.dy = dy.view;
    o.workspace = node.workspace.view;
    for (const Parameter* parameter : node.parameters) {
      o.w.push_back(parameter->weight);
      o.dw.push_back(parameter->gradient);
    }
    for (const State& state : node.state) o.state.push_back(state.view);
    o.tokens = node.tokens;
    o.labels = node.labels;
    o.step = &session_.step_;
    return call;
  }

  // A parameter that was used before on the way back gets its second gradient added.
  void weights(const Node& node, const Gradient& dy) {
    Call call = call_of(node, Direction::backward_weights, dy);
    const Parameter& first = *node.parameters.front();
    if (written_.insert(first.gradient.data).second) return submit(std::move(call));
    const Numbers extra = session_.fresh(first.gradient.elements, DType::f32);
    call.operands.dw.front() = extra.view;
    submit(std::move(call));
    accumulate(first.gradient, extra.view, false);
  }

  void data(const Node& node, Gradient dy) {
    Call call = call_of(node, Direction::backward_data, dy);
    Gradient dx;
    if (node.trained) {
      dx = session_.fresh(node.recipe->batch * elements(node.recipe->graph.tensors.front().shape),
                          node.recipe->dtype);
      call.operands.dx = dx.view;
    }
    submit(std::move(call));
    if (node.trained) deliver(node.input, std::move(dx));
  }

  // Smaller variables first, as compiled graphs do it, for equal sums.
  void hand_on(const Node& node, const Gradient& dy) {
    const auto [first, second] = std::minmax(node.input, node.second_input);
    if (first >= 0) deliver(first, dy);
    deliver(second, dy);
  }

  void deliver(int variable, Gradient term) {
    if (!session_.trained_[static_cast<std::size_t>(variable)]) return;
    Gradient& sum = gradients_[static_cast<std::size_t>(variable)];
    if (sum.storage == nullptr) {
      sum = std::move(term);
    } else if (sum.storage.use_count() == 1) {
      accumulate(sum.view, term.view, true);
    } else {  // somebody else reads what is there
      Numbers fresh = session_.fresh(sum.view.elements, sum.view.dtype);
      copy_sum(fresh.view, sum.view, term.view);
      sum = std::move(fresh);
    }
  }

  void accumulate(const View& sum, const View& term, bool counts) {
    Call call{.kind = Call::Kind::accumulate,
              .recipe = &session_.recipes_.accumulation(sum.elements, sum.dtype),
              .counts = counts};
    call.operands.y = call.operands.x = sum;
    call.operands.x2 = term;
    submit(std::move(call));
  }

  void copy_sum(const View& y, const View& a, const View& b) {
    const Shape flat{y.elements};
    Call call{.recipe = &session_.recipes_.of({.attributes = add_,
                                               .x = flat,
                                               .batch = 1,
                                               .dtype = y.dtype,
                                               .mode = Mode::train,
                                               .name = name_}),
              .name = &name_};
    call.operands.x = a;
    call.operands.x2 = b;
    call.operands.y = y;
    submit(std::move(call));
  }

  Session& session_;
  const BackwardHooks& hooks_;
  std::vector<Gradient> gradients_;  // by variable
  std::set<const void*> written_;    // parameter gradients
  Ticket last_ = 0;
  const OpAttributes add_;
  static const std::string name_;
};

const std::string Backward::name_ = "sum_of_gradients";

void Session::backward(const Tensor& loss, const BackwardHooks& hooks) {
  expects(!tape_.empty() && tape_.back().output == loss.value().variable,
          "backward starts from the last call, a loss");
  Backward(*this, hooks).run();
  tape_.clear();
}

}  // namespace plimsoll::trainer::imperative
