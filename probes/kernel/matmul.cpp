// Question   How fast does a linear layer run in its three directions, by its shape?
// Method     The very kernels that train (trainer/backend) on a spread of generic shapes (skinny,
//            square, odd); by one thread, by all cores as a team, and by one thread while every
//            other core runs the same layer. What the operator before just wrote stays in place;
//            all other operands rotate through 32 MiB, as a training step would have evicted them.
// Reports    kernel.matmul.rate [FLOP/s] by m (rows), n (outputs), k (inputs), dtype, threads,
//            busy_cores, direction; forward and the weight gradient include the bias.
// Expect     50 to 90 % of cpu.flops where m, n and k exceed 100; less where n is small. bf16 about
//            twice f32 with avx512_bf16, 4 to 8 times with amx.
// Beware     32 sets at most: operands of some KiB stay in the nearer caches. The optimizer's and
//            the communicator's use of caches and memory at the same time is not imitated.
// Verifies   Sixteen outputs, poisoned before, against their definition in double precision.
// Feeds      Machine::matmul, the surface of linear layers.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "probes/kernel/operator_job.hpp"
#include "probes/kernel/spread.hpp"
#include "probes/probe.hpp"
#include "trainer/backend/backend.hpp"
#include "trainer/backend/team.hpp"

namespace plimsoll::probes {
namespace {

const ProbeInfo kInfo{
    .id = "kernel.matmul",
    .question = "How fast does a linear layer run, by its shape and direction?",
    .method = "the trainer's own kernels on a spread of generic shapes, operands evicted between",
    .metrics = {{.name = "kernel.matmul.rate",
                 .unit = "FLOP/s",
                 .meaning = "floating-point operations a second of one linear layer of m rows, n "
                            "outputs and k inputs",
                 .at_least = 1e6,
                 .at_most = 1e15}},
    .libraries = trainer::backend_libraries};

// Skinny outputs, powers of two and others; no value is that of a network that we predict.
const std::vector<std::int64_t> kRows{16, 32, 64, 128, 256, 512, 1024};
const std::vector<std::int64_t> kOutputs{8, 12, 16, 32, 64, 100, 160, 256, 400, 640, 1500, 2048};
const std::vector<std::int64_t> kInputs{8, 24, 64, 100, 192, 300, 512, 720, 1200, 2048};
// The ends of the ranges, so that what lies between is interpolated.
const std::vector<Point> kCorners{{16, 8, 2048},     {16, 2048, 8},     {16, 2048, 2048},
                                  {1024, 8, 8},      {1024, 8, 2048},   {1024, 2048, 8},
                                  {1024, 640, 1500}, {256, 1500, 1200}, {64, 1200, 720}};
const std::vector<std::int64_t> kMoreRows{16, 48, 128, 256, 512, 1024, 2048, 4096};
const std::vector<Point> kMoreCorners{{4096, 8, 512},  {4096, 512, 8},  {1024, 2048, 2048},
                                      {16, 4096, 512}, {16, 512, 4096}, {4096, 400, 300}};

constexpr double kMostFlop = 1.2e9;  // of a shape drawn from the spread
constexpr double kMostFlopMore = 4.5e9;

std::vector<Point> shapes(Level level) {
  const auto cheaper_than = [](double most) {
    return [most](const Point& p) {
      return 2.0 * static_cast<double>(p[0]) * static_cast<double>(p[1]) *
                 static_cast<double>(p[2]) <=
             most;
    };
  };
  std::vector<Point> all = kCorners;
  const auto add = [&](const std::vector<Point>& more) {
    for (const Point& p : more) {
      if (std::ranges::find(all, p) == all.end()) all.push_back(p);
    }
  };
  add(spread({kRows, kOutputs, kInputs}, 27, cheaper_than(kMostFlop)));
  if (level == Level::quick) return all;
  add(kMoreCorners);
  add(spread({kMoreRows, kOutputs, kInputs}, level == Level::full ? 200 : 60,
             cheaper_than(kMostFlopMore)));
  return all;
}

struct Setting {
  OperatorShape shape;
  Load load;
};

Case one_case(const std::shared_ptr<Crews>& crews, const Point& p, const Setting& setting) {
  const auto& [shape, load] = setting;
  Case one{.params = {{"m", p[0]},
                      {"n", p[1]},
                      {"k", p[2]},
                      {"dtype", to_string(shape.dtype)},
                      {"threads", std::int64_t{load.threads}},
                      {"busy_cores", std::int64_t{load.busy_cores}},
                      {"direction", to_string(shape.direction)}}};
  one.make = [crews, setting] {
    return operator_subject(crews->of(setting.load), setting.shape,
                            setting.shape.cost().flop.value(), trainer::make_cpu_backend);
  };
  return one;
}

// bf16 is measured on every fourth shape: nothing trains in it on this device yet.
constexpr std::size_t kBf16Every = 4;
// One thread on an otherwise idle machine of several cores is not how anybody trains: every third
// shape is enough to tell what the other loads cost.
constexpr std::size_t kAloneEvery = 3;

std::vector<Case> cases(const ProbeOptions& options) {
  const std::vector<Point> points = shapes(options.level);
  std::vector<OperatorShape> shaped;
  std::int64_t bytes = kRotation;
  for (const Point& p : points) {
    GraphBuilder builder({p[2]});
    builder.linear("linear", builder.input(), p[1]);
    shaped.push_back({.graph = std::make_shared<const Graph>(std::move(builder).build()),
                      .direction = Direction::forward,
                      .batch = p[0],
                      .dtype = DType::f32});
    bytes = std::max(bytes, shaped.back().bytes());
  }
  const auto crews = std::make_shared<Crews>(options, bytes);
  std::vector<Case> all;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (const Load load : loads(options)) {
      const bool alone = load == Load{} && options.cores > 1;
      if (alone && i % kAloneEvery != 0 && options.level != Level::full) continue;
      for (const DType dtype : {DType::f32, DType::bf16}) {
        if (dtype == DType::bf16 && i % kBf16Every != 0) continue;
        for (const Direction direction :
             {Direction::forward, Direction::backward_data, Direction::backward_weights}) {
          Setting setting{.shape = shaped[i], .load = load};
          setting.shape.direction = direction;
          setting.shape.dtype = dtype;
          all.push_back(one_case(crews, points[i], setting));
        }
      }
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
