// Runs the reference kernels: one pinned thread per CPU, all at once, each answer checked.

#include "core/system/reference_loops.hpp"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <functional>
#include <thread>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "core/system/affinity.hpp"
#include "core/system/buffer.hpp"
#include "core/system/clock.hpp"
#include "core/system/reference_kernels.hpp"
#include "core/system/topology.hpp"

namespace plimsoll::sys {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kStreamBytes = 768 * kMiB;  // read per CPU and sample: 30 to 60 ms of one core
constexpr double kMostBuffer = 512 * kMiB;   // all CPUs together

// Twice the caches in sum, shared by the threads; a machine with huge caches gets at least four
// fifths of its traffic from memory, which is enough for a loop that is compared with itself.
std::size_t buffer_words(std::size_t threads) {
  const Bytes caches = summed_last_level_cache(read_topology()).value_or(Bytes(32 * kMiB));
  const double wanted = std::clamp(2 * caches.value(), 64 * kMiB, kMostBuffer);
  const Bytes fitting = fitting_size(Bytes(wanted), memory_room());
  const double each = fitting.value() / static_cast<double>(threads);
  return static_cast<std::size_t>(std::max(each, 1 * kMiB)) / sizeof(std::uint64_t);
}

// What one thread measured.
struct Sample {
  double compute_f32 = 0, compute_bf16 = 0, memory = 0;
};

double time_compute(const ComputeLoop& loop) {
  // A tenth of the work first, untimed: the core reaches the clock that this instruction mix gets.
  bool right = loop.run(loop.rounds / 10) == loop.answer(loop.rounds / 10);
  const Seconds start = now();
  for (int i = 0; i < loop.repeats; ++i)
    right = loop.run(loop.rounds) == loop.answer(loop.rounds) && right;
  const Seconds elapsed = now() - start;
  expects(right, "reference loop: wrong answer, so the work was not done");
  return elapsed.value();
}

double time_memory(std::span<const std::uint64_t> words, int passes) {
  std::uint64_t sum = 0;
  const Seconds start = now();
  for (int pass = 0; pass < passes; ++pass) {
    sum += stream_sum(words);
    __asm__ volatile("" : : "r"(words.data()) : "memory");  // each pass reads again
  }
  const Seconds elapsed = now() - start;
  expects(sum == static_cast<std::uint64_t>(passes) * counting_sum(words.size()),
          "reference loop: wrong sum, so the memory was not read");
  return elapsed.value();
}

std::string amount(const ComputeLoop& loop) {
  return loop.path + ", " + std::to_string(loop.repeats * loop.rounds * loop.flop_per_round) +
         " FLOP";
}

}  // namespace

struct ReferenceLoops::State {
  CpuSet cpus;
  ComputeLoop f32 = compute_f32_loop();
  std::optional<ComputeLoop> bf16 = compute_bf16_loop();
  std::vector<Buffer> buffers;
  int passes = 1;

  [[nodiscard]] std::size_t threads() const { return static_cast<std::size_t>(cpus.count()); }

  // Calls `work(thread)` in one thread a CPU, pinned to it.
  void everywhere(const std::function<void(std::size_t)>& work) const {
    const std::vector<int> ids = cpus.ids();
    std::vector<std::thread> team;
    for (std::size_t t = 0; t < ids.size(); ++t)
      team.emplace_back([&, t] {
        try {
          pin(ids[t]);
        } catch (const Error&) {
          // The CPU went away: its loop still runs, somewhere, and shows as slow.
        }
        work(t);
      });
    for (std::thread& thread : team) thread.join();
  }
};

ReferenceLoops::ReferenceLoops() : ReferenceLoops(read_topology().usable) {}

ReferenceLoops::ReferenceLoops(const CpuSet& cpus) : state_(std::make_unique<State>()) {
  expects(!cpus.empty(), "reference loops need a CPU");
  state_->cpus = cpus;
  const std::size_t words = buffer_words(state_->threads());
  const double bytes = static_cast<double>(words * sizeof(std::uint64_t));
  state_->passes = std::max(1, static_cast<int>(std::round(kStreamBytes / bytes)));
  for (std::size_t t = 0; t < state_->threads(); ++t)
    state_->buffers.emplace_back(Bytes(bytes), "the memory reference loop", Page::huge,
                                 Touch::later);
  // Written by the thread that will read it, so that it lies on that thread's memory node.
  state_->everywhere([&](std::size_t t) { fill_counting(state_->buffers[t].as<std::uint64_t>()); });
}

ReferenceLoops::~ReferenceLoops() = default;
ReferenceLoops::ReferenceLoops(ReferenceLoops&&) noexcept = default;
ReferenceLoops& ReferenceLoops::operator=(ReferenceLoops&&) noexcept = default;

std::vector<ReferenceTime> ReferenceLoops::sample() {
  const State& state = *state_;
  std::vector<Sample> samples(state.threads());
  std::barrier together(static_cast<std::ptrdiff_t>(state.threads()));
  state.everywhere([&](std::size_t t) {
    Sample& mine = samples[t];
    together.arrive_and_wait();
    mine.compute_f32 = time_compute(state.f32);
    together.arrive_and_wait();
    if (state.bf16) mine.compute_bf16 = time_compute(*state.bf16);
    together.arrive_and_wait();
    mine.memory = time_memory(state.buffers[t].as<const std::uint64_t>(), state.passes);
  });
  const auto average = [&](double Sample::*field) {
    std::vector<double> values;
    for (const Sample& sample : samples) values.push_back(sample.*field);
    // A clock that stands still or runs backwards gives no time, and 0 would be one.
    if (!std::ranges::all_of(values, [](double value) { return value > 0; })) {
      return Known<Seconds>{{}, "unusable_time: the clock did not move forward"};
    }
    return Known<Seconds>{Seconds(mean(values)), ""};
  };
  const std::string cpus = "on each of CPUs " + format_cpulist(state.cpus) + " at once";
  const std::string stream = std::to_string(state.buffers.front().size()) + " B read " +
                             std::to_string(state.passes) + " times, " + cpus;
  const Known<Seconds> no_bf16{{}, "this CPU has no bf16 instruction that this loop uses"};
  return {{"reference.compute_f32.time", average(&Sample::compute_f32),
           amount(state.f32) + ", " + cpus},
          {"reference.compute_bf16.time", state.bf16 ? average(&Sample::compute_bf16) : no_bf16,
           state.bf16 ? amount(*state.bf16) + ", " + cpus : ""},
          {"reference.memory.time", average(&Sample::memory), stream}};
}

std::vector<Metric> reference_metrics(const std::vector<std::vector<ReferenceTime>>& samples) {
  std::vector<Metric> metrics;
  if (samples.empty()) return metrics;
  for (std::size_t i = 0; i < samples.front().size(); ++i) {
    Metric metric;
    metric.name = samples.front()[i].name;
    metric.unit = "s";
    metric.better = Better::lower;
    metric.source = samples.front()[i].source;
    for (const auto& times : samples) {
      expects(times.size() == samples.front().size() && times[i].name == metric.name,
              "reference_metrics: samples of different loops");
      if (times[i].time.value) metric.samples.push_back(times[i].time.value->value());
    }
    if (metric.samples.empty()) {
      metric.status = Status::skipped;
      metric.reason = samples.front()[i].time.reason;
    } else {
      metric.value = median(metric.samples);
      // One sample has no interval.
      if (metric.samples.size() > 1) metric.interval = median_interval(metric.samples);
      metric.summary = summary_fields(summarize(metric.samples));
      metric.checked = true;
    }
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

}  // namespace plimsoll::sys
