// Question   How long does a load take when it must wait for the load before it?
// Method     One pinned thread walks a single random cycle through the working set, one cache line
//            a step (two where the hardware fetches lines in pairs): no load can start early, no
//            prefetcher can guess the next address. Before each sample the set is read through,
//            so that a sample sees the caches as a walk that never ends would.
// Reports    memory.load_latency [s] by working_set_bytes and page (4k, huge).
// Expect     1e-9 to 2e-9 s in the first level, 3e-9 to 8e-9 in the second, 1e-8 to 3e-7 beyond.
// Beware     With 4 KiB pages sets beyond the TLB's reach pay page walks. Huge pages are asked for,
//            summary.huge_bytes says what was obtained; less than half: skipped.
// Verifies   A lap visits every node and comes home: two half cycles are refused.
// Feeds      Machine::memory latency by level.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/system/buffer.hpp"
#include "core/system/provenance.hpp"
#include "core/system/topology.hpp"
#include "probes/harness/cores.hpp"
#include "probes/harness/team.hpp"
#include "probes/memory/cache_levels.hpp"
#include "probes/memory/ring.hpp"
#include "probes/probe.hpp"

namespace plimsoll::probes {
namespace {

constexpr std::int64_t kLoadsPerOperation = 64;
constexpr std::uint64_t kSeed = 1;  // the same walk every time: reports compare
constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
// Larger sets are cold in any cache anyway: reading them through would cost more than it tells.
constexpr std::int64_t kLargestWarmed = 96 * kMiB;

#define PLIMSOLL_STEP_8(p) p = (p)->next->next->next->next->next->next->next->next

const Node* walk(const Node* node, std::int64_t operations) {
  for (std::int64_t i = 0; i < operations; ++i) {
    for (std::int64_t step = 0; step < kLoadsPerOperation; step += 8) PLIMSOLL_STEP_8(node);
  }
  return node;
}

#undef PLIMSOLL_STEP_8

class Walk final : public Subject {
 public:
  Walk(std::int64_t working_set, bool huge, std::size_t spacing, std::shared_ptr<Team> team)
      : working_set_(working_set),
        huge_(huge),
        team_(std::move(team)),
        buffer_(make_buffer()),
        ring_({buffer_.data(), buffer_.size()}, spacing),
        home_(ring_.at(0)) {
    huge_bytes_ = buffer_.huge_bytes();
    if (huge && huge_bytes_ < 0.5 * Bytes(static_cast<double>(working_set))) {
      throw NotApplicable("transparent huge pages were asked for and not obtained");
    }
    team_->run([&](int) { link(ring_, kSeed); });
  }

  Seconds run(std::int64_t operations) override {
    Seconds time;
    team_->run([&](int) {
      if (working_set_ <= kLargestWarmed) warm();
      home_ = walk(home_, operations / 8);
      time = timed(1, [&] { home_ = walk(home_, operations); });
    });
    return time;
  }

  [[nodiscard]] double work() const override { return static_cast<double>(kLoadsPerOperation); }

  [[nodiscard]] std::optional<std::string> verify() override { return flaw_of(ring_); }

  [[nodiscard]] std::map<std::string, double> summary() const override {
    return {{"huge_bytes", huge_bytes_.value()},
            {"spacing_bytes", static_cast<double>(buffer_.size() / ring_.count())}};
  }
  [[nodiscard]] std::string source() const override { return "pointer walk, one random cycle"; }

 private:
  // First touched by the thread that will walk it.
  sys::Buffer make_buffer() {
    sys::Buffer buffer(Bytes(static_cast<double>(working_set_)), "the walk's working set",
                       huge_ ? sys::Page::huge : sys::Page::base, sys::Touch::later);
    team_->run([&](int) { buffer.touch(0, buffer.size()); });
    return buffer;
  }

  void warm() {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < ring_.count(); ++i) sum += ring_.at(i)->mark;
    __asm__ volatile("" : : "r"(sum));
  }

  std::int64_t working_set_;
  bool huge_;
  std::shared_ptr<Team> team_;
  sys::Buffer buffer_;
  Ring ring_;
  const Node* home_;
  Bytes huge_bytes_;
};

// Intel's second-level prefetcher fetches lines in pairs.
std::size_t node_spacing() {
  return sys::describe_environment().cpu_model.find("Intel") != std::string::npos ? 128 : 64;
}

std::vector<std::int64_t> working_sets(const ProbeOptions& options) {
  if (!options.sizes.empty()) return options.sizes;
  std::int64_t largest = kGiB;
  if (options.level == Level::quick) largest = 128 * kMiB;
  if (options.level == Level::standard) largest = 256 * kMiB;
  const auto room = static_cast<std::int64_t>(sys::memory_room().available.value());
  largest = std::clamp(room / 4, std::int64_t{4} * kKiB, largest);
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 4 * kKiB; size <= largest; size *= 2) {
    sizes.push_back(size);
    // Between two powers of two the caches' true sizes show; above, every set takes its time.
    const bool half_step = options.level == Level::full || (options.level == Level::standard &&
                                                            size < 64 * kMiB && size > 8 * kKiB);
    if (half_step && size + size / 2 <= largest) sizes.push_back(size + size / 2);
  }
  return sizes;
}

std::vector<Case> cases(const ProbeOptions& options) {
  constexpr std::int64_t kInterleaved = 32 * kMiB;  // together they stay small
  const std::size_t spacing = node_spacing();
  const auto team = std::make_shared<std::weak_ptr<Team>>();
  std::vector<Case> all;
  int group = 0;
  for (const std::int64_t size : working_sets(options)) {
    if (size > kInterleaved) ++group;
    for (const bool huge : {false, true}) {
      Case one{.params = {{"working_set_bytes", size}, {"page", std::string(huge ? "huge" : "4k")}},
               .group = group};
      if (size < static_cast<std::int64_t>(spacing)) one.skip = "smaller than one node";
      one.make = [=] {
        std::shared_ptr<Team> shared = team->lock();
        if (!shared) *team = shared = team_of(options, 1);
        return std::make_unique<Walk>(size, huge, spacing, shared);
      };
      all.push_back(std::move(one));
    }
  }
  return all;
}

// The curve of huge pages where there is one: page walks hide the caches.
void conclude(Report& report) {
  std::vector<LatencyPoint> points;
  for (const std::string page : {"huge", "4k"}) {
    for (const Metric& metric : report.metrics) {
      const auto size = metric.params.find("working_set_bytes");
      if (size == metric.params.end() || !metric.value) continue;
      if (metric.params.at("page") != ParamValue(page)) continue;
      points.push_back({Bytes(static_cast<double>(std::get<std::int64_t>(size->second))),
                        Seconds(*metric.value)});
    }
    if (!points.empty()) break;
  }
  std::ranges::sort(points, {}, &LatencyPoint::working_set);
  std::ranges::move(cache_findings(points, report.environment.caches),
                    std::back_inserter(report.findings));
}

}  // namespace
}  // namespace plimsoll::probes

int main(int argc, char** argv) {
  using plimsoll::probes::ProbeInfo;
  const ProbeInfo info{
      .id = "memory.load_latency",
      .question = "How long does a load take when it must wait for the load before it?",
      .method =
          "one pinned thread walks one random cycle through the working set, a cache line a "
          "step, with 4 KiB pages and with transparent huge pages",
      .metrics = {{.name = "memory.load_latency",
                   .unit = "s",
                   .meaning = "time of one dependent load from a working set of that size",
                   .at_least = 2e-10,
                   .at_most = 5e-6}},
      .takes_sizes = true,
      .conclude = plimsoll::probes::conclude};
  return plimsoll::probes::run_probe(argc, argv, info, plimsoll::probes::cases);
}
