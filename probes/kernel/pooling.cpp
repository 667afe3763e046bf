// Question   How fast does pooling run forward and backward, by its shape?
// Method     The very kernels that train (trainer/backend, NHWC) on generic shapes; by one thread,
//            by all cores as a team, and by one thread while every other core does the same. What
//            the operator before just wrote stays in place; the rest rotates through 32 MiB.
// Reports    kernel.pooling.bandwidth [B/s] by mode, direction, batch, channels, image (input
//            side), kernel, stride, bytes (input and output once), threads, busy_cores.
// Expect     A third to the whole of memory.stream_bandwidth's copy; far less with 1 or 3 channels,
//            which lie together in memory and fill no vector.
// Beware     The indices of largest elements that forward hands to backward are moved, not counted.
// Verifies   Sixteen outputs, poisoned before, against their definition in double precision.
// Feeds      Machine::pooling, the surface of pooling.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "probes/kernel/operator_job.hpp"
#include "probes/probe.hpp"
#include "trainer/backend/backend.hpp"
#include "trainer/backend/team.hpp"

namespace plimsoll::probes {
namespace {

const ProbeInfo kInfo{
    .id = "kernel.pooling",
    .question = "How fast does pooling run, by its shape and direction?",
    .method = "the trainer's own kernels on generic shapes, operands evicted between",
    .metrics = {{.name = "kernel.pooling.bandwidth",
                 .unit = "B/s",
                 .meaning = "bytes a second of one pooling, its input and output counted once",
                 .at_least = 1e5,
                 .at_most = 1e14}},
    .libraries = trainer::backend_libraries};

struct Shaped {
  std::int64_t batch, image, channels, kernel, stride;
  Level from;  // measured from this level on
};
constexpr Shaped kShapes[] = {
    {16, 8, 8, 2, 2, Level::quick},       {16, 24, 40, 2, 2, Level::quick},
    {256, 8, 64, 2, 2, Level::quick},     {64, 24, 12, 2, 2, Level::quick},
    {256, 24, 24, 2, 2, Level::quick},    {128, 12, 40, 3, 2, Level::quick},
    {1024, 12, 32, 2, 2, Level::quick},   {16, 32, 1, 2, 2, Level::standard},
    {64, 8, 16, 2, 2, Level::standard},   {64, 12, 64, 2, 2, Level::standard},
    {64, 32, 32, 3, 1, Level::standard},  {256, 12, 8, 3, 3, Level::standard},
    {512, 16, 48, 2, 2, Level::standard}, {1024, 24, 16, 2, 2, Level::standard},
    {512, 32, 12, 2, 2, Level::standard}, {128, 16, 3, 3, 2, Level::full},
    {1024, 32, 32, 2, 2, Level::full},    {32, 32, 128, 2, 2, Level::full},
};

OperatorShape shape_of(const Shaped& s, Pool::Mode mode, Direction direction) {
  GraphBuilder builder({s.image, s.image, s.channels});
  builder.pool("pool", builder.input(), mode, s.kernel, s.stride);
  return {.graph = std::make_shared<const Graph>(std::move(builder).build()),
          .direction = direction,
          .batch = s.batch,
          .dtype = DType::f32};
}

Case one_case(const std::shared_ptr<Crews>& crews, const Shaped& s, const OperatorShape& shape,
              Load load) {
  const bool largest = std::get<Pool>(shape.op().attributes).mode == Pool::Mode::max;
  const double bytes = shape.cost().bytes.value();
  Case one{.params = {{"mode", std::string(largest ? "max" : "average")},
                      {"direction", to_string(shape.direction)},
                      {"batch", s.batch},
                      {"channels", s.channels},
                      {"image", s.image},
                      {"kernel", s.kernel},
                      {"stride", s.stride},
                      {"bytes", static_cast<std::int64_t>(bytes)},
                      {"threads", std::int64_t{load.threads}},
                      {"busy_cores", std::int64_t{load.busy_cores}}}};
  one.make = [crews, shape, load, bytes] {
    return operator_subject(crews->of(load), shape, bytes, trainer::make_cpu_backend);
  };
  return one;
}

std::vector<Case> cases(const ProbeOptions& options) {
  std::int64_t bytes = kRotation;
  for (const Shaped& s : kShapes) {
    if (s.from > options.level) continue;
    // The case of the backward direction holds both tensors twice.
    bytes = std::max(bytes, 2 * shape_of(s, Pool::Mode::max, Direction::forward).bytes());
  }
  const auto crews = std::make_shared<Crews>(options, bytes);
  std::vector<Case> all;
  for (const Shaped& s : kShapes) {
    if (s.from > options.level) continue;
    for (const Load load : loads(options)) {
      if (load == Load{} && options.cores > 1 && options.level == Level::quick) continue;
      for (const Pool::Mode mode : {Pool::Mode::max, Pool::Mode::average}) {
        for (const Direction direction : {Direction::forward, Direction::backward_data}) {
          all.push_back(one_case(crews, s, shape_of(s, mode, direction), load));
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
