// Question   How fast does a convolution run forward and in both backward directions, by its shape?
// Method     The very kernels that train (trainer/backend, NHWC) on a spread of generic shapes, few
//            channels and odd ones included; by one thread, by all cores as a team, and by one
//            thread while every other core runs the same layer. What the operator before just
//            wrote stays in place; all other operands rotate through 32 MiB.
// Reports    kernel.convolution.rate [FLOP/s] by batch, in_channels, out_channels, kernel, image
//            (input side), stride, padding, dtype, threads, busy_cores, direction. FLOP of the
//            direct convolution; forward and the weight gradient include the bias.
// Expect     60 to 90 % of cpu.flops from 16 channels on; 5 to 30 % with 1 or 3 of them.
// Beware     Reordering the weights into the library's layout is part of the kernel and of its
//            time. Input gradients of fewer than 8 channels are left out: no network wants them.
// Verifies   Sixteen outputs, poisoned before, against their definition in double precision.
// Feeds      Machine::convolution, the surface of convolutions.

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
    .id = "kernel.convolution",
    .question = "How fast does a convolution run, by its shape and direction?",
    .method = "the trainer's own kernels on a spread of generic shapes, operands evicted between",
    .metrics = {{.name = "kernel.convolution.rate",
                 .unit = "FLOP/s",
                 .meaning = "floating-point operations a second of one convolution, counted as "
                            "direct convolution whatever the library does",
                 .at_least = 1e6,
                 .at_most = 1e15}},
    .libraries = trainer::backend_libraries};

// Axes of the spread; no combination is that of a network that we predict.
enum Axis : std::size_t { kBatch, kIn, kOut, kKernel, kImage, kPadded };
const std::vector<std::vector<std::int64_t>> kAxes{{16, 32, 64, 128, 256, 512, 1024},  // samples
                                                   {1, 4, 8, 12, 16, 24, 32, 64},  // input channels
                                                   {8, 12, 16, 24, 32, 40, 64},  // output channels
                                                   {1, 3, 5},                    // kernel side
                                                   {8, 12, 16, 24, 32},          // image side
                                                   {0, 1}};  // image padded so that its side stays
// The ends of the ranges, so that what lies between is interpolated.
const std::vector<Point> kCorners{{16, 1, 8, 3, 8, 0},
                                  {16, 64, 64, 5, 8, 0},
                                  {16, 1, 64, 5, 32, 0},
                                  {64, 1, 16, 5, 24, 0},
                                  {256, 1, 16, 3, 32, 0},
                                  {1024, 1, 12, 3, 24, 0},
                                  {128, 24, 40, 5, 12, 0},
                                  {512, 24, 64, 3, 12, 0},
                                  {256, 16, 64, 5, 12, 0},
                                  {1024, 16, 40, 5, 12, 0},
                                  // deep layers: many channels, few pixels, pointwise ones too
                                  {16, 384, 384, 3, 6, 1},
                                  {8, 96, 96, 3, 24, 1},
                                  {64, 48, 384, 1, 8, 0},
                                  {128, 384, 48, 1, 6, 0}};

struct Limits {
  std::int64_t shapes;
  double flop;  // of one operation of a shape drawn from the spread
  double bytes;
};
Limits limits(Level level) {
  switch (level) {
    case Level::quick:
      return {18, 3e8, 24e6};
    case Level::standard:
      return {90, 2e9, 96e6};
    case Level::full:
      return {300, 4e9, 256e6};
  }
  return {};
}

Convolution attributes(const Point& p) {
  return {.in_channels = p[kIn],
          .out_channels = p[kOut],
          .kernel = p[kKernel],
          .stride = 1,
          .padding = p[kPadded] * (p[kKernel] / 2)};
}

OperatorShape shape_of(const Point& p, Direction direction) {
  const Convolution a = attributes(p);
  GraphBuilder builder({p[kImage], p[kImage], p[kIn]});
  builder.convolution("convolution", builder.input(), a.out_channels, a.kernel, a.stride,
                      a.padding);
  return {.graph = std::make_shared<const Graph>(std::move(builder).build()),
          .direction = direction,
          .batch = p[kBatch],
          .dtype = DType::f32};
}

std::vector<Point> shapes(Level level) {
  const Limits most = limits(level);
  std::vector<Point> all = kCorners;
  const auto fits = [&](const Point& p) {
    const OperatorShape shape = shape_of(p, Direction::forward);
    return shape.cost().flop.value() <= most.flop && shape.cost().bytes.value() <= most.bytes;
  };
  for (const Point& p : spread(kAxes, most.shapes, fits)) {
    if (std::ranges::find(all, p) == all.end()) all.push_back(p);
  }
  return all;
}

Case one_case(const std::shared_ptr<Crews>& crews, const Point& p, const OperatorShape& shape,
              Load load) {
  const Convolution a = attributes(p);
  Case one{.params = {{"batch", p[kBatch]},
                      {"in_channels", a.in_channels},
                      {"out_channels", a.out_channels},
                      {"kernel", a.kernel},
                      {"image", p[kImage]},
                      {"stride", a.stride},
                      {"padding", a.padding},
                      {"dtype", to_string(shape.dtype)},
                      {"threads", std::int64_t{load.threads}},
                      {"busy_cores", std::int64_t{load.busy_cores}},
                      {"direction", to_string(shape.direction)}}};
  one.make = [crews, shape, load] {
    return operator_subject(crews->of(load), shape, shape.cost().flop.value(),
                            trainer::make_cpu_backend);
  };
  return one;
}

// One thread on an otherwise idle machine of several cores is not how anybody trains: every third
// shape is enough to tell what the other loads cost.
constexpr std::size_t kAloneEvery = 3;

std::vector<Case> cases(const ProbeOptions& options) {
  const std::vector<Point> points = shapes(options.level);
  std::int64_t bytes = kRotation;
  for (const Point& p : points) bytes = std::max(bytes, shape_of(p, Direction::forward).bytes());
  const auto crews = std::make_shared<Crews>(options, bytes);
  std::vector<Case> all;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (const Load load : loads(options)) {
      const bool alone = load == Load{} && options.cores > 1;
      if (alone && i % kAloneEvery != 0 && options.level != Level::full) continue;
      for (const Direction direction :
           {Direction::forward, Direction::backward_data, Direction::backward_weights}) {
        // A network's input has few channels and wants no gradient.
        if (direction == Direction::backward_data && points[i][kIn] < 8) continue;
        all.push_back(one_case(crews, points[i], shape_of(points[i], direction), load));
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
