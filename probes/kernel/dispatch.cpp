// Question   What does one operator call cost that does next to nothing?
// Method     relu on one element and a linear layer with one weight, made and executed as the
//            trainer does, on operands that stay in the cache.
// Reports    kernel.dispatch.time [s] by operation and threads.
// Expect     1e-7 to 1e-6 s; the backend runs so little work on one thread of any team.
// Beware     The cost of waking a team is not in it: that is part of the time of kernels large
//            enough to be divided, in their own probes.
// Verifies   The output, poisoned before, against its definition.
// Feeds      Machine::dispatch, the floor of every operator's time.

#include <memory>
#include <string>
#include <vector>

#include "probes/kernel/operator_job.hpp"
#include "probes/probe.hpp"
#include "trainer/backend/backend.hpp"
#include "trainer/backend/team.hpp"

namespace plimsoll::probes {
namespace {

const ProbeInfo kInfo{.id = "kernel.dispatch",
                      .question = "What does one operator call cost that does next to nothing?",
                      .method = "operators on one element, executed as the trainer does",
                      .metrics = {{.name = "kernel.dispatch.time",
                                   .unit = "s",
                                   .meaning = "time of one operator call that does next to nothing",
                                   .at_least = 1e-9,
                                   .at_most = 1e-2}}};

Graph graph_of(const std::string& operation) {
  GraphBuilder builder({1});
  if (operation == "relu") {
    builder.relu(operation, builder.input());
  } else {
    builder.linear(operation, builder.input(), 1);
  }
  return std::move(builder).build();
}

std::vector<Case> cases(const ProbeOptions& options) {
  const auto crews = std::make_shared<Crews>(options, std::int64_t{1} << 20);
  std::vector<Case> all;
  for (const Load load : loads(options)) {
    if (load.busy_cores > 0) continue;
    for (const std::string operation : {"relu", "linear"}) {
      const OperatorShape shape{.graph = std::make_shared<const Graph>(graph_of(operation)),
                                .direction = Direction::forward,
                                .batch = 1,
                                .dtype = DType::f32};
      Case one{.params = {{"operation", operation}, {"threads", std::int64_t{load.threads}}}};
      one.make = [crews, shape, load] {
        return operator_subject(crews->of(load), shape, 1.0, trainer::make_cpu_backend);
      };
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace
}  // namespace plimsoll::probes

int main(int argc, char** argv) {
  plimsoll::trainer::sleep_when_waiting(argv);
  return plimsoll::probes::run_probe(argc, argv, plimsoll::probes::kInfo, plimsoll::probes::cases);
}
