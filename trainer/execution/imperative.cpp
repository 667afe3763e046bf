// Imperative execution: a step calls operator after operator through the front end
// (trainer/backend/imperative), which knows nothing of the graph: `eager` waits for each, `async`
// queues them to a thread of its own and waits where a value is read.

#include <array>
#include <utility>

#include "core/error.hpp"
#include "trainer/backend/imperative/session.hpp"
#include "trainer/execution/network_state.hpp"

namespace plimsoll::trainer {
namespace {

using imperative::Parameter;
using imperative::Session;
using imperative::Tensor;
using imperative::Ticket;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class ImperativeExecutor final : public Executor {
 public:
  ImperativeExecutor(const Graph& graph, const Backend& backend, const FlatLayout& layout,
                     const ExecutorOptions& options, bool queued)
      : graph_(graph),
        queued_(queued),
        state_(graph, backend, layout, options),
        engine_(queued ? imperative::make_queue_engine(backend, options.threads)
                       : imperative::make_inline_engine(backend)),
        session_(std::make_unique<Session>(backend, *engine_, options.dtype)),
        last_reader_(graph.tensors.size(), -1) {
    describe_parameters();
    for (int i = 0; i < std::ssize(graph.ops); ++i) {
      for (const int input : graph.ops[at(i)].inputs) last_reader_[at(input)] = i;
    }
  }

  [[nodiscard]] std::vector<InputSlot> slots() const override { return state_.slots(); }
  [[nodiscard]] std::span<float> weights() override { return state_.weights(); }
  [[nodiscard]] std::span<float> gradients() override { return state_.gradients(); }
  [[nodiscard]] std::span<float> state() override { return state_.state(); }
  void weights_changed() override { state_.weights_changed(); }
  [[nodiscard]] double forward(int slot, std::int64_t batch, const StepState& step,
                               Mode mode) override;
  void backward(int slot, std::int64_t batch, BackwardListener& listener, bool accumulate) override;
  [[nodiscard]] std::int64_t correct(int slot, std::int64_t batch) const override {
    return batch == 0 ? 0 : state_.correct(scores_.view(), slot);
  }
  [[nodiscard]] Flop flop(std::int64_t batch) const override {
    const auto found = flop_.find(batch);
    return found == flop_.end() ? Flop(0) : found->second;
  }
  [[nodiscard]] std::map<std::string, std::string> implementations() const override;
  [[nodiscard]] std::vector<MemoryItem> memory() const override;

 private:
  void describe_parameters();
  [[nodiscard]] Tensor input(int slot, std::int64_t batch);
  void wait_and_tell(BackwardListener& listener, bool accumulate);

  const Graph& graph_;
  const bool queued_;
  NetworkState state_;
  std::unique_ptr<imperative::Engine> engine_;
  std::unique_ptr<Session> session_;
  std::vector<Parameter> parameters_;                        // flat
  std::vector<std::vector<const Parameter*>> of_op_;         // by op
  std::vector<std::vector<imperative::State>> state_of_op_;  // by op
  std::vector<int> last_reader_;                             // by tensor: op
  std::vector<std::pair<int, Ticket>> ready_;                // operators, on the way back
  std::vector<const imperative::Recipe*> recipes_;           // by op, of the largest batch
  std::map<std::int64_t, Flop> flop_;                        // by batch
  Flop flop_before_;
  Tensor scores_, loss_;
};

void ImperativeExecutor::describe_parameters() {
  std::size_t index = 0;
  for (const Op& op : graph_.ops) {
    for (const auto& parameter : op.parameters) {
      parameters_.push_back({.name = parameter.name,
                             .shape = parameter.shape,
                             .weight = state_.kernel_weight(index),
                             .gradient = state_.weight_gradient(index)});
      ++index;
    }
  }
  for (int i = 0; i < std::ssize(graph_.ops); ++i) {
    std::vector<const Parameter*> own;
    for (const std::size_t p : state_.parameters(i)) own.push_back(&parameters_[p]);
    of_op_.push_back(std::move(own));
    std::vector<imperative::State> kept;
    for (std::size_t s = 0; s < graph_.ops[at(i)].state.size(); ++s) {
      kept.push_back({graph_.ops[at(i)].state[s].name, state_.op_state(i)[s]});
    }
    state_of_op_.push_back(std::move(kept));
  }
}

Tensor ImperativeExecutor::input(int slot, std::int64_t batch) {
  const auto& tensor = graph_.tensors[at(graph_.input)];
  const InputSlot& from = state_.slots()[at(slot)];
  if (tensor.tokens) return session_->tokens(tensor.shape, batch, from.tokens);
  return session_->input(tensor.shape, batch,
                         {.data = from.x, .elements = batch * elements(tensor.shape)});
}

double ImperativeExecutor::forward(int slot, std::int64_t batch, const StepState& step, Mode mode) {
  if (batch == 0) return 0.0;
  scores_ = loss_ = {};
  session_->begin(mode, step);
  flop_before_ = engine_->flop();
  std::vector<Tensor> values(graph_.tensors.size());
  values[at(graph_.input)] = input(slot, batch);
  for (int i = 0; i < std::ssize(graph_.ops); ++i) {
    const Op& op = graph_.ops[at(i)];
    std::array<Tensor, 2> inputs;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) inputs[k] = values[at(op.inputs[k])];
    values[at(op.output)] = session_->call({.attributes = op.attributes,
                                            .name = op.name,
                                            .inputs = {inputs.data(), op.inputs.size()},
                                            .parameters = of_op_[at(i)],
                                            .state = state_of_op_[at(i)],
                                            .labels = state_.slots()[at(slot)].labels});
    if (&op == &graph_.ops.back()) scores_ = inputs[0];
    for (const int read : op.inputs) {  // as a local variable that is not used any more
      if (last_reader_[at(read)] == i) values[at(read)] = {};
    }
  }
  loss_ = std::move(values[at(graph_.ops.back().output)]);
  if (mode == Mode::train && batch == state_.largest_batch()) {
    recipes_.clear();
    for (const imperative::Node& node : session_->tape()) recipes_.push_back(node.recipe);
  }
  return loss_.sum();
}

void ImperativeExecutor::backward(int, std::int64_t batch, BackwardListener& listener,
                                  bool accumulate) {
  if (batch == 0) return state_.backward_of_nothing(listener, accumulate);
  if (accumulate) state_.keep_gradients();
  ready_.clear();
  imperative::BackwardHooks hooks;
  hooks.gradients_queued = [&](std::size_t node, Ticket ticket) {
    const int op = static_cast<int>(node);  // the tape has all operators, in their order
    if (graph_.ops[node].parameters.empty()) return;
    if (queued_) {
      ready_.emplace_back(op, ticket);
      return;
    }
    if (accumulate) state_.add_kept(op);
    listener.gradients_ready(op);
  };
  if (!queued_) hooks.after_call = [&] { listener.between_kernels(); };
  session_->backward(loss_, hooks);
  if (queued_) wait_and_tell(listener, accumulate);
  flop_[batch] = engine_->flop() - flop_before_;
}

// What is told happens here while the executor's thread goes on with the operators before.
void ImperativeExecutor::wait_and_tell(BackwardListener& listener, bool accumulate) {
  for (const auto& [op, ticket] : ready_) {
    engine_->wait(ticket);
    if (accumulate) state_.add_kept(op);
    listener.gradients_ready(op);
    listener.between_kernels();
  }
  session_->wait();
}

std::map<std::string, std::string> ImperativeExecutor::implementations() const {
  std::map<std::string, std::string> all;
  for (std::size_t i = 0; i < recipes_.size(); ++i) {
    for (const Direction direction :
         {Direction::forward, Direction::backward_data, Direction::backward_weights}) {
      const auto& kernel = recipes_[i]->kernels[static_cast<std::size_t>(direction)];
      if (!kernel || !computes(graph_, graph_.ops[i], direction)) continue;
      all[graph_.ops[i].name + "." + to_string(direction)] = kernel->implementation();
    }
  }
  return all;
}

std::vector<MemoryItem> ImperativeExecutor::memory() const {
  std::vector<MemoryItem> items = state_.items();
  items.push_back(
      {.name = "activations", .bytes = Bytes(static_cast<double>(session_->allocator().peak()))});
  items.push_back({.name = "workspace", .bytes = session_->recipes().scratch()});
  return items;
}

}  // namespace

std::unique_ptr<Executor> make_eager_executor(const Graph& graph, const Backend& backend,
                                              const FlatLayout& layout,
                                              const ExecutorOptions& options) {
  return std::make_unique<ImperativeExecutor>(graph, backend, layout, options, false);
}

std::unique_ptr<Executor> make_async_executor(const Graph& graph, const Backend& backend,
                                              const FlatLayout& layout,
                                              const ExecutorOptions& options) {
  return std::make_unique<ImperativeExecutor>(graph, backend, layout, options, true);
}

}  // namespace plimsoll::trainer
