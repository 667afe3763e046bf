// Question   How long until every rank holds the sum of all ranks' buffers?
// Method     Ranks are threads, each pinned to a core of its own, with the trainer's communicator
//            and each of its algorithms. Before a sum every rank writes its whole buffer, and all
//            meet at a barrier; the time is the slowest rank's, from its post to its result. A
//            sample is the median of its sums.
// Reports    collective.all_reduce.time [s] by bytes (one rank's buffer), ranks, comm, algorithm.
// Expect     3e-7..3e-6 s for 4 bytes; from 1 MiB on 5e-11..5e-10 s a byte, by how far apart the
//            caches of the cores lie.
// Beware     Buffers were just written by their ranks, as backward leaves gradients: what fits lies
//            in the writers' caches, and moving it between cores is part of the time. Buffers at
//            rest are another, mostly faster thing. The cores do nothing else meanwhile.
// Verifies   Every element on every rank against its exact sum, before and after the samples.
// Feeds      Machine::all_reduce, through models/fit/transfers.cpp.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/system/buffer.hpp"
#include "probes/collective/sums.hpp"
#include "probes/probe.hpp"
#include "trainer/comm/algorithm/all_reduce.hpp"

namespace plimsoll::probes {
namespace {

constexpr std::int64_t kLargest = std::int64_t{64} << 20;
constexpr std::int64_t kAlone = std::int64_t{4} << 20;  // from here each case has memory for itself

std::vector<std::int64_t> sizes(const ProbeOptions& options) {
  if (!options.sizes.empty()) {
    std::vector<std::int64_t> whole = options.sizes;  // whole floats, one at least
    for (std::int64_t& bytes : whole) bytes = std::max<std::int64_t>(4, bytes / 4 * 4);
    return whole;
  }
  const std::int64_t factor = options.level == Level::full ? 2 : 4;
  std::vector<std::int64_t> all;
  for (std::int64_t bytes = 4; bytes <= kLargest; bytes *= factor) all.push_back(bytes);
  return all;
}

std::vector<int> rank_counts(const ProbeOptions& options) {
  std::vector<int> counts;
  const bool every = options.level == Level::full;
  for (int n = 2; n < options.cores; n = every ? n + 1 : n * 2) counts.push_back(n);
  counts.push_back(std::max(2, options.cores));
  return counts;
}

std::vector<Case> cases(const ProbeOptions& options) {
  std::vector<Case> list;
  int group = 0;
  for (const std::int64_t bytes : sizes(options)) {
    if (bytes >= kAlone) ++group;
    for (const int ranks : rank_counts(options)) {
      for (const trainer::AllReduceAlgorithm& algorithm : trainer::all_reduce_algorithms()) {
        const std::string name(algorithm.name);
        const auto make = [=]() -> std::unique_ptr<Subject> {
          const std::vector<int> cpus(options.cpus.begin(), options.cpus.begin() + ranks);
          return std::make_unique<Sums>(
              SumsOptions{.bytes = bytes, .cpus = cpus, .algorithm = name, .wrap = {}});
        };
        list.push_back({.metric = 0,
                        .params = {{"bytes", bytes},
                                   {"ranks", std::int64_t{ranks}},
                                   {"comm", std::string("threads")},
                                   {"algorithm", name}},
                        .make = make,
                        .skip = options.cores >= 2 ? "" : "only one core may be used: no two ranks",
                        .group = group});
      }
    }
  }
  return list;
}

const ProbeInfo kInfo{
    .id = "collective.all_reduce",
    .question = "How long until every rank holds the sum of all ranks' buffers?",
    .method = "Pinned threads sum freshly written buffers with the trainer's communicator",
    .metrics = {{.name = "collective.all_reduce.time",
                 .unit = "s",
                 .meaning = "One in-place sum of f32 over all ranks, on the slowest rank",
                 .at_least = 2e-8,
                 .at_most = 60}},
    .takes_sizes = true};

}  // namespace
}  // namespace plimsoll::probes

int main(int argc, char** argv) {
  return plimsoll::probes::run_probe(argc, argv, plimsoll::probes::kInfo, plimsoll::probes::cases);
}
