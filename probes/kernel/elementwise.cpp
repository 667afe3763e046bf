// Question   How fast do element-wise operators, the optimizer and the loader's gather run?
// Method     The very functions that train (trainer/backend) by size; by one thread, by all cores
//            as a team, and by one thread while every other core does the same. What the operator
//            before just wrote stays in place; the rest rotates through 32 MiB.
// Reports    kernel.elementwise.bandwidth [B/s] by operation, bytes (moved by one call, each
//            operand once, an updated one twice), threads, busy_cores.
// Expect     From cache rates of 1e10 to 2e11 B/s down to memory.stream_bandwidth's for large
//            calls; the loss about 1e9 B/s: it is exponentials, not traffic.
// Beware     The loss has ten classes a row, softmax_rows two hundred; its time goes with rows and
//            classes alike. The gather always runs on one thread, as the loader does, and picks
//            rows of 1 KiB out of 32 MiB.
// Verifies   Sixteen elements, poisoned before, against their formulas in double precision.
// Feeds      Machine::elementwise: norms, activations, sums, losses, the embedding, the softmax of
//            attention, optimizer and input of the model.

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "probes/kernel/elementwise_jobs.hpp"
#include "probes/kernel/operator_job.hpp"
#include "probes/probe.hpp"
#include "trainer/backend/backend.hpp"
#include "trainer/backend/team.hpp"

namespace plimsoll::probes {
namespace {

const ProbeInfo kInfo{
    .id = "kernel.elementwise",
    .question = "How fast do element-wise operators, the update and the gather run, by size?",
    .method = "the trainer's own functions by size, operands evicted between",
    .metrics = {{.name = "kernel.elementwise.bandwidth",
                 .unit = "B/s",
                 .meaning = "bytes a second of one call, each operand counted once",
                 .at_least = 1e5,
                 .at_most = 1e14}},
    .takes_sizes = true,
    .libraries = trainer::backend_libraries};

constexpr std::int64_t kClasses = 10, kManyClasses = 200;
constexpr std::int64_t kDataset = kRotation;  // bytes that the gather picks from
constexpr std::int64_t kMost = std::int64_t{64} << 20;
constexpr std::int64_t kMostLoss = std::int64_t{4} << 20;
constexpr std::int64_t kMostArithmetic = std::int64_t{16} << 20;  // beyond, time goes with bytes

// Sizes of one call in bytes: a factor of 16 apart, 4 and 2 at the higher levels; coarse ones 16
// and 4.
std::vector<std::int64_t> sizes(const ProbeOptions& options, std::int64_t most,
                                bool coarse = false) {
  if (!options.sizes.empty()) return options.sizes;
  const std::int64_t factor = options.level == Level::quick      ? 16
                              : options.level == Level::standard ? (coarse ? 16 : 4)
                                                                 : (coarse ? 4 : 2);
  std::vector<std::int64_t> all;
  for (std::int64_t size = most; size >= 2048; size /= factor) all.push_back(size);
  std::ranges::reverse(all);
  return all;
}

Case named(const std::string& operation, std::int64_t bytes, Load load) {
  return {.params = {{"operation", operation},
                     {"bytes", bytes},
                     {"threads", std::int64_t{load.threads}},
                     {"busy_cores", std::int64_t{load.busy_cores}}}};
}

using Append = std::function<void(GraphBuilder&)>;

std::shared_ptr<const Graph> graph_of(const Shape& input, const Append& append,
                                      bool tokens = false) {
  GraphBuilder builder(input, tokens);
  append(builder);
  return std::make_shared<const Graph>(std::move(builder).build());
}

// An operator on one sample of a generic shape, and which of its directions are measured under
// which names. `most` bytes a call.
struct Kind {
  std::string name;
  std::shared_ptr<const Graph> graph;
  std::vector<std::pair<Direction, std::string>> directions;
  std::int64_t most = kMost;
  bool coarse = true;
};

std::vector<Kind> kinds() {
  using Directions = std::vector<std::pair<Direction, std::string>>;
  const Directions both{{Direction::forward, "_forward"}, {Direction::backward_data, "_backward"}};
  const Directions forward{{Direction::forward, ""}};
  return {
      {"relu", graph_of({16}, [](GraphBuilder& g) { g.relu("op", 0); }), both, kMost, false},
      {"softmax_cross_entropy",
       graph_of({kClasses}, [](GraphBuilder& g) { g.softmax_cross_entropy("op", 0); }), both,
       kMostLoss, false},
      {"softmax_rows",
       graph_of({kManyClasses}, [](GraphBuilder& g) { g.softmax_cross_entropy("op", 0); }), both,
       kMostArithmetic},
      {"batch_norm", graph_of({4, 4, 48}, [](GraphBuilder& g) { g.batch_norm("op", 0); }), both},
      {"layer_norm", graph_of({192}, [](GraphBuilder& g) { g.layer_norm("op", 0); }), both,
       kMostArithmetic},
      {"gelu", graph_of({16}, [](GraphBuilder& g) { g.gelu("op", 0); }), both, kMostArithmetic},
      {"add", graph_of({16}, [](GraphBuilder& g) { g.add("op", 0, 0); }), forward},
      {"dropout", graph_of({16}, [](GraphBuilder& g) { g.dropout("op", 0, 0.2); }), forward,
       kMostArithmetic},
      {"embedding",
       graph_of(
           {32}, [](GraphBuilder& g) { g.embedding("op", 0, 300, 192); }, true),
       {{Direction::forward, "_forward"}, {Direction::backward_weights, "_backward"}},
       kMostArithmetic}};
}

// Cases of an operator in one direction, at about the sizes asked for.
void add_operator(std::vector<Case>& all, const std::shared_ptr<Crews>& crews,
                  const std::string& operation, const OperatorShape& sample,
                  const std::vector<std::int64_t>& wanted, Load load) {
  for (const std::int64_t bytes : wanted) {
    OperatorShape shape = sample;
    const auto each = static_cast<std::int64_t>(sample.cost().bytes.value());
    shape.batch = std::max<std::int64_t>(1, bytes / each);
    const double moved = shape.cost().bytes.value();
    Case one = named(operation, static_cast<std::int64_t>(moved), load);
    one.make = [crews, shape, load, moved] {
      return operator_subject(crews->of(load), shape, moved, trainer::make_cpu_backend);
    };
    all.push_back(std::move(one));
  }
}

void add_operators(std::vector<Case>& all, const std::shared_ptr<Crews>& crews,
                   const ProbeOptions& options, Load load) {
  for (const Kind& kind : kinds()) {
    for (const auto& [direction, suffix] : kind.directions) {
      add_operator(all, crews, kind.name + suffix, {.graph = kind.graph, .direction = direction},
                   sizes(options, kind.most, kind.coarse), load);
    }
  }
}

void add_sgd(std::vector<Case>& all, const std::shared_ptr<Crews>& crews,
             const ProbeOptions& options, Load load) {
  for (const std::int64_t bytes : sizes(options, kMost)) {
    const std::int64_t elements = std::max<std::int64_t>(1, bytes / kSgdBytesPerElement);
    const std::int64_t moved = elements * kSgdBytesPerElement;
    Case one = named("sgd_momentum", moved, load);
    one.make = [crews, elements, moved, load] {
      const MakeJob job = [&](Placement& placement) {
        return sgd_job(elements, load.threads, placement);
      };
      return std::make_unique<Rotation>(crews->of(load), job, static_cast<double>(moved),
                                        "trainer backend");
    };
    all.push_back(std::move(one));
  }
}

void add_gather(std::vector<Case>& all, const std::shared_ptr<Crews>& crews,
                const ProbeOptions& options, Load load) {
  for (const std::int64_t bytes : sizes(options, kMost)) {
    const std::int64_t row = kGatherRow * kGatherBytesPerElement;
    const std::int64_t rows = std::max<std::int64_t>(1, bytes / row), moved = rows * row;
    Case one = named("gather_u8", moved, load);
    one.make = [crews, rows, moved, load] {
      const MakeJob job = [&](Placement& placement) {
        return gather_job(rows, kDataset, placement);
      };
      return std::make_unique<Rotation>(crews->of(load), job, static_cast<double>(moved),
                                        "trainer backend");
    };
    all.push_back(std::move(one));
  }
}

std::vector<Case> cases(const ProbeOptions& options) {
  std::int64_t largest = kMost;
  for (const std::int64_t size : options.sizes) largest = std::max(largest, size);
  const auto crews = std::make_shared<Crews>(options, largest + (std::int64_t{1} << 20));
  std::vector<Case> all;
  for (const Load load : loads(options)) {
    if (load.threads == 1) add_gather(all, crews, options, load);
    const bool alone = load == Load{} && options.cores > 1;
    if (alone && options.level == Level::quick) continue;
    add_operators(all, crews, options, load);
    add_sgd(all, crews, options, load);
  }
  // Sizes that a user asks for may come to the same number of elements.
  std::vector<Case> once;
  for (Case& one : all) {
    const auto same = [&](const Case& other) { return other.params == one.params; };
    if (std::ranges::none_of(once, same)) once.push_back(std::move(one));
  }
  return once;
}

}  // namespace
}  // namespace plimsoll::probes

int main(int argc, char** argv) {
  plimsoll::trainer::sleep_when_waiting(argv);
  return plimsoll::probes::run_probe(argc, argv, plimsoll::probes::kInfo, plimsoll::probes::cases);
}
