// The machinery of the kernel probes: shapes spread over grids, operands that rotate, and answers
// that are checked, so that a backend which saves itself half the work gets no number.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <stdexcept>

#include "core/system/affinity.hpp"
#include "probes/kernel/elementwise_jobs.hpp"
#include "probes/kernel/operator_job.hpp"
#include "probes/kernel/spread.hpp"
#include "tests/catch.hpp"

namespace plimsoll::probes {
namespace {

using trainer::Backend;
using trainer::Kernel;
using trainer::Operands;
using trainer::View;

enum class Lie { half_of_each_sum, half_of_the_rows, stops_after_first_call };

// Does part of what the wrapped kernel would do.
class LyingKernel final : public Kernel {
 public:
  LyingKernel(std::unique_ptr<Kernel> honest, bool once)
      : honest_(std::move(honest)), once_(once) {}
  void execute() override {
    if (once_ && calls_++ > 0) return;
    honest_->execute();
  }
  [[nodiscard]] Cost counted() const override { return honest_->counted(); }
  [[nodiscard]] std::string implementation() const override { return "lie"; }

 private:
  std::unique_ptr<Kernel> honest_;
  bool once_;
  int calls_ = 0;
};

// A backend whose linear layers skip work.
class LyingBackend final : public Backend {
 public:
  LyingBackend(std::unique_ptr<Backend> honest, Lie lie) : honest_(std::move(honest)), lie_(lie) {}
  [[nodiscard]] std::string name() const override { return "lying backend"; }
  [[nodiscard]] Bytes workspace(const Graph& graph, const Op& op, std::int64_t batch,
                                DType dtype) const override {
    return honest_->workspace(graph, op, batch, dtype);
  }
  [[nodiscard]] std::unique_ptr<Kernel> make_accumulate(const trainer::View& sum,
                                                        const trainer::View& term) const override {
    return honest_->make_accumulate(sum, term);
  }
  [[nodiscard]] std::unique_ptr<Kernel> make_convert(const trainer::View& from,
                                                     const trainer::View& to) const override {
    return honest_->make_convert(from, to);
  }
  [[nodiscard]] std::unique_ptr<Kernel> make(const Graph& graph, const Op& op, Direction direction,
                                             const Operands& operands) const override {
    Operands less = operands;
    if (lie_ == Lie::half_of_the_rows) less.batch /= 2;
    if (lie_ == Lie::half_of_each_sum) {
      // Forward over the first half of the inputs, as if they were all of them.
      const auto& linear = std::get<Linear>(op.attributes);
      GraphBuilder builder({linear.in_features / 2});
      builder.linear(op.name, builder.input(), linear.out_features);
      const Graph half = std::move(builder).build();
      auto kernel = honest_->make(half, half.ops.back(), direction, less);
      return std::make_unique<LyingKernel>(std::move(kernel), false);
    }
    return std::make_unique<LyingKernel>(honest_->make(graph, op, direction, less),
                                         lie_ == Lie::stops_after_first_call);
  }

 private:
  std::unique_ptr<Backend> honest_;
  Lie lie_;
};

MakeBackend lying(Lie lie) {
  return [lie](int threads) {
    return std::make_unique<LyingBackend>(trainer::make_cpu_backend(threads), lie);
  };
}

OperatorShape linear(Direction direction) {
  GraphBuilder builder({96});
  builder.linear("linear", builder.input(), 40);
  return {.graph = std::make_shared<const Graph>(std::move(builder).build()),
          .direction = direction,
          .batch = 32,
          .dtype = DType::f32};
}

std::vector<int> cpus() {
  const sys::CpuSet allowed = sys::affinity();
  std::vector<int> ids = allowed.ids();
  return ids;
}

std::shared_ptr<Crew> crew_of(Load load) {
  ProbeOptions options;
  options.cpus = cpus();
  return Crews(options, std::int64_t{1} << 22).of(load);
}

TEST_CASE("honest operators are measured and verified") {
  const auto crew = crew_of({});
  for (const Direction direction :
       {Direction::forward, Direction::backward_data, Direction::backward_weights}) {
    const auto subject = operator_subject(crew, linear(direction), 7.0, trainer::make_cpu_backend);
    CHECK(subject->run(3).value() > 0);
    CHECK(subject->verify() == std::nullopt);
    CHECK(subject->work() == 7.0);
    CHECK(subject->source().find("oneDNN") != std::string::npos);
  }
}

TEST_CASE("a matmul that skips half its work is seen") {
  const auto crew = crew_of({});
  const auto verdict = [&](Direction direction, Lie lie) {
    const auto subject = operator_subject(crew, linear(direction), 1.0, lying(lie));
    static_cast<void>(subject->run(1));
    return subject->verify();
  };
  CHECK(verdict(Direction::forward, Lie::half_of_each_sum).has_value());
  for (const Direction direction :
       {Direction::forward, Direction::backward_data, Direction::backward_weights}) {
    INFO(to_string(direction));
    CHECK(verdict(direction, Lie::half_of_the_rows).has_value());
    CHECK(verdict(direction, Lie::stops_after_first_call).has_value());
  }
  const auto said = verdict(Direction::forward, Lie::half_of_each_sum);
  CHECK(said.value().find("should be") != std::string::npos);
}

TEST_CASE("the update and the gather are verified") {
  const auto crew = crew_of({});
  for (const std::int64_t elements : {1, 50, 40000}) {
    Rotation update(
        crew, [&](Placement& placement) { return sgd_job(elements, 1, placement); }, 1.0, "test");
    static_cast<void>(update.run(5));
    CHECK(update.verify() == std::nullopt);
  }
  Rotation gather(
      crew, [](Placement& placement) { return gather_job(3, 64 * kGatherRow, placement); }, 1.0,
      "test");
  static_cast<void>(gather.run(5));
  CHECK(gather.verify() == std::nullopt);
}

TEST_CASE("busy cores run the same kernel while one is timed") {
  if (cpus().size() < 2) {
    WARN("one CPU: nobody else can be busy");
    return;
  }
  const auto crew = crew_of({.threads = 1, .busy_cores = 1});
  REQUIRE(crew->teams() == 2);
  std::vector<std::atomic<int>> calls(2);
  const Seconds time = crew->time(
      10, [&](int team, std::int64_t) { calls[static_cast<std::size_t>(team)].fetch_add(1); });
  CHECK(time.value() > 0);
  CHECK(calls[0].load() == 11);  // ten timed ones and the one before
  CHECK(calls[1].load() >= 1);

  CHECK_THROWS(crew->time(1, [](int team, std::int64_t) {
    if (team == 1) throw std::runtime_error("the other one fails");
  }));
  CHECK_THROWS(crew->time(1, [](int team, std::int64_t) {
    if (team == 0) throw std::runtime_error("the timed one fails");
  }));
}

TEST_CASE("operands rotate, except what was just written") {
  const Arena arena(std::int64_t{64} << 20);
  Placement placement(arena);
  const std::int64_t elements = std::int64_t{1} << 20;
  std::set<void*> recent, inputs, outputs;
  for (int set = 0; set < 6; ++set) {
    placement.next_set();
    recent.insert(placement.recent(elements).data);
    inputs.insert(placement.input(elements).data);
    outputs.insert(placement.output(elements).data);
  }
  CHECK(recent.size() == 1);
  CHECK(inputs.size() == 6);
  CHECK(outputs.size() == 6);
  CHECK(placement.sets() * 2 * elements * 4 >= kRotation);
  for (void* const input : inputs) {
    const auto distance =
        static_cast<const std::byte*>(input) - static_cast<const std::byte*>(*recent.begin());
    CHECK(std::abs(distance) >= elements * 4);
  }
}

TEST_CASE("every value of an arena is finite and small in both types") {
  const Arena arena(1 << 16);
  const auto* const singles = reinterpret_cast<const float*>(arena.inputs());
  CHECK(std::all_of(singles, singles + (1 << 14),
                    [](float v) { return std::isnormal(v) && std::abs(v) < 1; }));
}

TEST_CASE("a spread is deterministic, accepted, different, and starts alike at any length") {
  const std::vector<std::vector<std::int64_t>> axes{{1, 2, 3}, {10, 20, 30, 40}};
  const auto odd_or_large = [](const Point& p) { return p[0] != 2; };
  const auto few = spread(axes, 4, odd_or_large), all = spread(axes, 100, odd_or_large);
  CHECK(few.size() == 4);
  CHECK(all.size() == 8);  // the grid has no more
  CHECK(std::equal(few.begin(), few.end(), all.begin()));
  CHECK(std::set<Point>(all.begin(), all.end()).size() == all.size());
  CHECK(std::ranges::all_of(all, odd_or_large));
}

}  // namespace
}  // namespace plimsoll::probes
