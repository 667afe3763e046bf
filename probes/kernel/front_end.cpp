// A chain of linear layers and gelus, forward and backward: nothing in it can be fused, so that the
// replay runs the very kernels of the calls.

#include "probes/kernel/front_end.hpp"

#include <array>
#include <cmath>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/system/clock.hpp"
#include "trainer/backend/imperative/session.hpp"

namespace plimsoll::probes {
namespace {

using trainer::Backend;
using trainer::Kernel;
using trainer::Mode;
using trainer::View;
using trainer::imperative::Call;
using trainer::imperative::Engine;
using trainer::imperative::Session;
using trainer::imperative::Ticket;

constexpr std::int64_t kBatch = 4, kWidth = 16, kLayers = 12;

// Does every call, and keeps it.
class Recorder final : public Engine {
 public:
  explicit Recorder(const Backend& backend)
      : inner_(trainer::imperative::make_inline_engine(backend)) {}
  Ticket submit(Call&& call) override {
    calls.push_back(call);
    return inner_->submit(std::move(call));
  }
  void wait(Ticket) override {}
  [[nodiscard]] bool done(Ticket) const override { return true; }
  void then(Ticket, std::function<void()> callback) override { callback(); }
  [[nodiscard]] std::string name() const override { return "recorder"; }
  [[nodiscard]] Flop flop() const override { return inner_->flop(); }

  std::vector<Call> calls;

 private:
  std::unique_ptr<Engine> inner_;
};

// Parameters of the chain, and a step of it through a session.
class Chain {
 public:
  Chain() : x_(kBatch * kWidth) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = 0.1F * static_cast<float>(i % 11);
    for (std::int64_t layer = 0; layer < kLayers; ++layer) {
      const std::string name = "linear" + std::to_string(layer);
      names_.push_back(name);
      gelu_names_.push_back("gelu" + std::to_string(layer));
      parameters_.push_back(parameter(name + ".weight", {kWidth, kWidth}));
      parameters_.push_back(parameter(name + ".bias", {kWidth}));
    }
  }

  [[nodiscard]] trainer::imperative::Tensor forward(Session& session) const {
    session.begin(Mode::train);
    trainer::imperative::Tensor x = session.input(
        {kWidth}, kBatch, {.data = const_cast<float*>(x_.data()), .elements = std::ssize(x_)});
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      const std::array both{&parameters_[2 * layer], &parameters_[2 * layer + 1]};
      x = session.call(
          {.attributes = linear_, .name = names_[layer], .inputs = {&x, 1}, .parameters = both});
      x = session.call({.attributes = gelu_, .name = gelu_names_[layer], .inputs = {&x, 1}});
    }
    return session.call(
        {.attributes = loss_, .name = loss_name_, .inputs = {&x, 1}, .labels = labels_.data()});
  }

  // Sum of the losses, read as a training loop reads it, and gradients, waited for one layer after
  // the other as whoever sends them to other ranks does.
  double step(Session& session) {
    const trainer::imperative::Tensor loss = forward(session);
    const double sum = loss.sum();
    ready_.clear();
    trainer::imperative::BackwardHooks hooks;
    hooks.gradients_queued = [&](std::size_t, Ticket ticket) { ready_.push_back(ticket); };
    session.backward(loss, hooks);
    for (const Ticket ticket : ready_) session.engine().wait(ticket);
    session.wait();
    return sum;
  }

  [[nodiscard]] std::vector<float> gradients() const {
    return {memory_.back().begin(), memory_.back().end()};
  }

 private:
  trainer::imperative::Parameter parameter(const std::string& name, const Shape& shape) {
    const auto count = static_cast<std::size_t>(elements(shape));
    std::vector<float>& weights = memory_.emplace_back(count);
    for (std::size_t i = 0; i < count; ++i) {
      weights[i] = 0.05F * static_cast<float>((i * 7) % 13) - 0.3F;
    }
    std::vector<float>& gradients = memory_.emplace_back(count);
    return {.name = name,
            .shape = shape,
            .weight = {.data = weights.data(), .elements = elements(shape)},
            .gradient = {.data = gradients.data(), .elements = elements(shape)}};
  }

  const OpAttributes linear_ = Linear{kWidth, kWidth};
  const OpAttributes gelu_ = Gelu{};
  const OpAttributes loss_ = SoftmaxCrossEntropy{kWidth};
  const std::string loss_name_ = "loss";
  std::vector<std::string> names_, gelu_names_;
  std::deque<std::vector<float>> memory_;
  std::vector<trainer::imperative::Parameter> parameters_;
  std::vector<float> x_;
  std::vector<Ticket> ready_;
  std::array<std::int32_t, kBatch> labels_ = {0, 5, 10, 15};
};

class FrontEndCalls final : public Subject {
 public:
  FrontEndCalls(std::shared_ptr<Crew> crew, FrontEnd front_end) : crew_(std::move(crew)) {
    crew_->first([&] {
      const int threads = crew_->load().threads;
      backend_ = trainer::make_cpu_backend(threads);
      record();
      engine_ = front_end == FrontEnd::eager
                    ? trainer::imperative::make_inline_engine(*backend_)
                    : trainer::imperative::make_queue_engine(*backend_, threads);
      session_ = std::make_unique<Session>(*backend_, *engine_);
      for (int warm = 0; warm < 3; ++warm) chain_.step(*session_);
    });
  }

  Seconds run(std::int64_t operations) override {
    Seconds sum;
    crew_->first([&] {
      for (std::int64_t i = 0; i < operations; ++i) {
        const Seconds begin = sys::now();
        loss_ = chain_.step(*session_);
        const Seconds called = sys::now();
        for (const auto& kernel : kernels_) kernel->execute();
        sum += called - begin - (sys::now() - called);
      }
    });
    return sum;
  }
  [[nodiscard]] double work() const override { return static_cast<double>(kernels_.size()); }

  // Both ways end in the same losses and gradients, bit for bit.
  [[nodiscard]] std::optional<std::string> verify() override {
    std::optional<std::string> wrong;
    crew_->first([&] {
      loss_ = chain_.step(*session_);
      const std::vector<float> called = chain_.gradients();
      for (const auto& kernel : kernels_) kernel->execute();
      const double replayed = recorded_loss_.sum();
      if (!(loss_ > 0) || loss_ != replayed) {
        wrong = "losses of " + std::to_string(loss_) + " by calls and " + std::to_string(replayed) +
                " by replay";
      } else if (called != chain_.gradients()) {
        wrong = "gradients by calls and by replay differ";
      }
    });
    return wrong;
  }
  [[nodiscard]] std::string source() const override {
    return backend_->name() + ", " + engine_->name() + " engine";
  }

 private:
  // Kernels of their own for the calls of one step, on the buffers that these had.
  void record() {
    recorder_ = std::make_unique<Recorder>(*backend_);
    recorded_ = std::make_unique<Session>(*backend_, *recorder_);
    recorded_loss_ = chain_.forward(*recorded_);
    recorded_->backward(recorded_loss_);
    for (const Call& call : recorder_->calls) {
      expects(call.kind == Call::Kind::operation, "nothing branches in a chain");
      kernels_.push_back(
          backend_->make(call.recipe->graph, call.recipe->op(), call.direction, call.operands));
    }
  }

  std::shared_ptr<Crew> crew_;
  std::unique_ptr<Backend> backend_;
  Chain chain_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Session> recorded_;
  trainer::imperative::Tensor recorded_loss_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  double loss_ = 0;
};

}  // namespace

std::unique_ptr<Subject> front_end_subject(std::shared_ptr<Crew> crew, FrontEnd front_end) {
  return std::make_unique<FrontEndCalls>(std::move(crew), front_end);
}

}  // namespace plimsoll::probes
