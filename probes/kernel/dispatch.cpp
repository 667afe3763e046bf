// Question   What does one operator call cost that does next to nothing, and what does calling it
//            imperatively add?
// Method     relu on one element and a linear layer with one weight, made and executed as the
//            trainer does. Cold: between two calls 4 MiB of other data pass through the caches, as
//            between two operators of a network. Warm: the same call over and over. Added: a
//            training step of small operators called through the trainer's imperative front end
//            (allocation, look-up of the primitive, binding, tape), less the same kernels replayed
//            as a compiled graph replays them, divided by the calls.
// Reports    kernel.dispatch.time [s] by operation, cache (cold, warm) and threads;
//            kernel.dispatch.added [s] by execution (eager, async) and threads.
// Expect     Warm 1e-7 to 5e-7 s, cold 1e-6 to 1e-5 s: the library's code and data come from afar.
//            Added: 3e-7 to 2e-6 s eager; async less where its thread has a core of its own, more
//            where two threads take turns on one.
// Beware     The cost of waking a team is not in it: so little work is done by one thread of any
//            team, and in larger kernels it is part of their own time. A cold call includes one
//            reading of the clock, some 3e-8 s.
// Verifies   The output, poisoned before, against its definition; losses and gradients of the step
//            called and replayed, bit for bit.
// Feeds      Machine::dispatch, the floor of every operator's time. What is added: the difference
//            between eager and graph execution.

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/system/clock.hpp"
#include "probes/kernel/front_end.hpp"
#include "probes/kernel/operator_job.hpp"
#include "probes/probe.hpp"
#include "trainer/backend/backend.hpp"
#include "trainer/backend/team.hpp"

namespace plimsoll::probes {
namespace {

const ProbeInfo kInfo{
    .id = "kernel.dispatch",
    .question = "What does one operator call cost that does next to nothing?",
    .method = "operators on one element, executed as the trainer does, caches swept between or not",
    .metrics = {{.name = "kernel.dispatch.time",
                 .unit = "s",
                 .meaning = "time of one operator call that does next to nothing",
                 .at_least = 1e-9,
                 .at_most = 1e-2},
                {.name = "kernel.dispatch.added",
                 .unit = "s",
                 .meaning = "time that an operator call adds to its kernel when it is made "
                            "imperatively instead of replayed",
                 .at_least = 1e-9,
                 .at_most = 1e-3}},
    .libraries = trainer::backend_libraries};

constexpr std::int64_t kSweep = std::int64_t{4} << 20;  // more than any core's own cache

// Times every call by itself, after other data went through the caches.
class ColdCalls final : public Subject {
 public:
  ColdCalls(std::shared_ptr<Crew> crew, std::unique_ptr<Rotation> calls)
      : crew_(std::move(crew)), calls_(std::move(calls)) {}

  Seconds run(std::int64_t operations) override {
    Seconds sum;
    crew_->first([&] {
      const auto* const data = reinterpret_cast<const std::uint64_t*>(crew_->arena(0).inputs());
      for (std::int64_t i = 0; i < operations; ++i) {
        // What is read decides what is called, so that neither can be left out or moved.
        const std::uint64_t read = std::accumulate(data, data + kSweep / 8, std::uint64_t{0});
        const std::int64_t set = i + (read == 0 ? 1 : 0);
        const Seconds begin = sys::now();
        calls_->call(set);
        sum += sys::now() - begin;
      }
    });
    return sum;
  }
  [[nodiscard]] double work() const override { return 1; }
  [[nodiscard]] std::optional<std::string> verify() override { return calls_->verify(); }
  [[nodiscard]] std::string source() const override { return calls_->source(); }

 private:
  std::shared_ptr<Crew> crew_;
  std::unique_ptr<Rotation> calls_;
};

Graph graph_of(const std::string& operation) {
  GraphBuilder builder({1});
  if (operation == "relu") {
    builder.relu(operation, builder.input());
  } else {
    builder.linear(operation, builder.input(), 1);
  }
  return std::move(builder).build();
}

Case one_case(const std::shared_ptr<Crews>& crews, const std::string& operation, Load load,
              bool cold) {
  const OperatorShape shape{.graph = std::make_shared<const Graph>(graph_of(operation)),
                            .direction = Direction::forward,
                            .batch = 1,
                            .dtype = DType::f32};
  Case one{.params = {{"operation", operation},
                      {"cache", std::string(cold ? "cold" : "warm")},
                      {"threads", std::int64_t{load.threads}}}};
  one.make = [crews, shape, load, cold]() -> std::unique_ptr<Subject> {
    const auto crew = crews->of(load);
    auto calls = operator_subject(crew, shape, 1.0, trainer::make_cpu_backend);
    if (!cold) return calls;
    return std::make_unique<ColdCalls>(crew, std::move(calls));
  };
  return one;
}

Case front_end_case(const std::shared_ptr<Crews>& crews, Load load, bool queued) {
  Case one{.metric = 1,
           .params = {{"execution", std::string(queued ? "async" : "eager")},
                      {"threads", std::int64_t{load.threads}}}};
  one.make = [crews, load, queued] {
    return front_end_subject(crews->of(load), queued ? FrontEnd::async : FrontEnd::eager);
  };
  return one;
}

std::vector<Case> cases(const ProbeOptions& options) {
  const auto crews = std::make_shared<Crews>(options, kSweep);
  std::vector<Case> all;
  for (const Load load : loads(options)) {
    if (load.busy_cores > 0) continue;
    for (const bool cold : {true, false}) {
      for (const std::string operation : {"linear", "relu"}) {
        all.push_back(one_case(crews, operation, load, cold));
      }
    }
    for (const bool queued : {false, true}) all.push_back(front_end_case(crews, load, queued));
  }
  return all;
}

}  // namespace
}  // namespace plimsoll::probes

int main(int argc, char** argv) {
  plimsoll::trainer::sleep_when_waiting(argv);
  return plimsoll::probes::run_probe(argc, argv, plimsoll::probes::kInfo, plimsoll::probes::cases);
}
