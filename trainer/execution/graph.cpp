// Replays compiled programs.

#include "trainer/execution/graph.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "trainer/execution/network_state.hpp"
#include "trainer/execution/program_kernels.hpp"

namespace plimsoll::trainer {
namespace {

struct Compiled {
  Program program;
  ProgramKernels kernels;
};

class Replay final : public GraphExecutor {
 public:
  Replay(const Graph& graph, const Backend& backend, const FlatLayout& layout,
         const ExecutorOptions& options, const GraphOptions& wishes)
      : graph_(graph), state_(graph, backend, layout, options) {
    prepare(backend, options.batches, Mode::train, wishes);
    prepare(backend, options.evaluation_batches, Mode::evaluate, wishes);
    std::int64_t bytes = 64;
    for (const auto& [key, one] : compiled_) bytes = std::max(bytes, one.program.arena_bytes);
    arena_ = sys::Buffer(Bytes(static_cast<double>(bytes)), "activations", sys::Page::huge);
    for (auto& [key, one] : compiled_) {
      one.kernels = make_kernels(graph, backend, state_, one.program, arena_.data());
    }
  }

  [[nodiscard]] std::vector<InputSlot> slots() const override { return state_.slots(); }
  [[nodiscard]] std::span<float> weights() override { return state_.weights(); }
  [[nodiscard]] std::span<float> gradients() override { return state_.gradients(); }
  [[nodiscard]] std::span<float> state() override { return state_.state(); }
  void weights_changed() override { state_.weights_changed(); }

  [[nodiscard]] double forward(int slot, std::int64_t batch, const StepState& step,
                               Mode mode) override {
    if (batch == 0) return 0.0;
    state_.step = step;
    last_ = &compiled(batch, mode);
    const Program& program = last_->program;
    for (int i = 0; i < program.forward_steps; ++i) {
      last_->kernels.steps[static_cast<std::size_t>(i)].execute(slot);
    }
    const auto* losses = static_cast<const float*>(view(program.losses).data);
    return std::accumulate(losses, losses + batch, 0.0);
  }

  void backward(int slot, std::int64_t batch, BackwardListener& listener,
                bool accumulate) override {
    if (batch == 0) return state_.backward_of_nothing(listener, accumulate);
    if (accumulate) state_.keep_gradients();
    const Compiled& one = compiled(batch, Mode::train);
    for (auto i = static_cast<std::size_t>(one.program.forward_steps); i < one.kernels.steps.size();
         ++i) {
      const BoundStep& step = one.kernels.steps[i];
      if (step.ready < 0) {
        step.execute(slot);
        listener.between_kernels();
        continue;
      }
      if (accumulate) state_.add_kept(step.ready);
      listener.gradients_ready(step.ready);
    }
  }

  [[nodiscard]] std::int64_t correct(int slot, std::int64_t batch) const override {
    if (batch == 0) return 0;
    expects(last_ != nullptr && last_->program.batch == batch, "hits are of the last batch");
    return state_.correct(view(last_->program.scores), slot);
  }

  [[nodiscard]] Flop flop(std::int64_t batch) const override {
    const auto found = compiled_.find({batch, Mode::train});
    return found == compiled_.end() ? Flop(0) : found->second.kernels.flop;
  }
  [[nodiscard]] std::map<std::string, std::string> implementations() const override {
    const auto found = compiled_.find({state_.largest_batch(), Mode::train});
    if (found == compiled_.end()) return {};
    return found->second.kernels.implementations;
  }
  [[nodiscard]] std::vector<MemoryItem> memory() const override {
    std::vector<MemoryItem> items = state_.items();
    Bytes scratch;
    for (const auto& [key, one] : compiled_) scratch += one.kernels.scratch;
    items.push_back({.name = "activations", .bytes = Bytes(static_cast<double>(arena_.size()))});
    items.push_back({.name = "workspace", .bytes = scratch});
    return items;
  }

  [[nodiscard]] std::int64_t arena_bytes() const override {
    return static_cast<std::int64_t>(arena_.size());
  }
  [[nodiscard]] const Program& program(std::int64_t batch, Mode mode) const override {
    return compiled(batch, mode).program;
  }

 private:
  void prepare(const Backend& backend, const std::vector<std::int64_t>& batches, Mode mode,
               const GraphOptions& wishes) {
    for (const std::int64_t batch : batches) {
      if (batch == 0 || compiled_.contains({batch, mode})) continue;
      const auto known = std::ranges::find_if(wishes.programs, [&](const Program& one) {
        return one.batch == batch && one.mode == mode && one.dtype == state_.dtype();
      });
      Program program =
          known != wishes.programs.end()
              ? *known
              : compile(
                    graph_, backend,
                    {.batch = batch, .dtype = state_.dtype(), .mode = mode, .fuse = wishes.fuse});
      compiled_[{batch, mode}] = {.program = std::move(program), .kernels = {}};
    }
  }

  [[nodiscard]] const Compiled& compiled(std::int64_t batch, Mode mode) const {
    const auto found = compiled_.find({batch, mode});
    expects(found != compiled_.end(), "a batch has a size that the executor was told");
    return found->second;
  }
  [[nodiscard]] View view(int buffer) const {
    return view_of(last_->program.buffers[static_cast<std::size_t>(buffer)], arena_.data());
  }

  const Graph& graph_;
  NetworkState state_;
  sys::Buffer arena_;
  std::map<std::pair<std::int64_t, Mode>, Compiled> compiled_;
  const Compiled* last_ = nullptr;  // that went forward last
};

}  // namespace

std::unique_ptr<GraphExecutor> make_graph_executor(const Graph& graph, const Backend& backend,
                                                   const FlatLayout& layout,
                                                   const ExecutorOptions& options,
                                                   const GraphOptions& wishes) {
  return std::make_unique<Replay>(graph, backend, layout, options, wishes);
}

std::unique_ptr<Executor> make_graph_executor(const Graph& graph, const Backend& backend,
                                              const FlatLayout& layout,
                                              const ExecutorOptions& options) {
  return make_graph_executor(graph, backend, layout, options, GraphOptions{});
}

}  // namespace plimsoll::trainer
