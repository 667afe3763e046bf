// Question   How many bytes a second can 1 to N cores move, by cache level and kind of access?
// Method     Pinned threads, each on its own slice that it touched first, run hand-written vector
//            loops: read, write, non-temporal write, copy, triad. Samples go on where the one
//            before ended, so that a set larger than the caches is always met cold.
// Reports    memory.stream_bandwidth [B/s] by kernel, working_set_bytes (of all arrays and cores
//            together), cores. Counting "stream": 8 bytes an element for read and write, 16 for
//            copy, 24 for triad; the lines that a plain store reads first are not counted.
// Expect     1e10 to 3e10 from memory and 1e11 to 4e11 in the first level, a core.
// Beware     The largest set is four times the summed last-level caches where memory allows; a
//            finding says where not. A plain store moves twice what is counted.
// Verifies   Outputs are poisoned, written by the very loops that are timed, and compared element
//            by element; sums are exact. A copy that drops a page fails.
// Feeds      Machine::memory bandwidth by level and number of active cores.

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/system/buffer.hpp"
#include "core/system/topology.hpp"
#include "probes/harness/cores.hpp"
#include "probes/memory/stream_arena.hpp"
#include "probes/memory/stream_kernels.hpp"
#include "probes/memory/stream_subject.hpp"
#include "probes/probe.hpp"

namespace plimsoll::probes {
namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::int64_t kLargestQuick = 512 * kMiB;  // more costs more time than a quick look has

std::int64_t largest_set(const ProbeOptions& options, const sys::Topology& topology) {
  Bytes wanted = sys::beyond_cache(topology);
  if (options.level == Level::quick) {
    wanted = std::min(wanted, Bytes(static_cast<double>(kLargestQuick)));
  }
  return static_cast<std::int64_t>(sys::fitting_size(wanted, sys::memory_room()).value());
}

// Half of each cache level, of all cores that run, and the largest set.
std::vector<std::int64_t> sets_of_levels(const sys::Topology& topology, int cores) {
  std::vector<std::int64_t> sizes;
  for (int level = 1; level <= 3; ++level) {
    std::int64_t bytes = 0;
    std::int64_t sharing = 1;
    for (const sys::Cache& cache : topology.caches) {
      if (cache.level != level || cache.type == "instruction" || !cache.size) continue;
      bytes = static_cast<std::int64_t>(cache.size->value());
      sharing = std::max<std::int64_t>(1, cache.cpus.count());
    }
    const std::int64_t instances = (cores + sharing - 1) / sharing;
    if (bytes > 0) sizes.push_back(bytes / 2 * instances);
  }
  return sizes;
}

std::vector<std::int64_t> working_sets(const ProbeOptions& options, const sys::Topology& topology,
                                       int cores) {
  if (!options.sizes.empty()) return options.sizes;
  const std::int64_t largest = largest_set(options, topology);
  std::set<std::int64_t> sizes;
  for (const std::int64_t size : sets_of_levels(topology, cores)) sizes.insert(size);
  if (options.level != Level::quick) {
    const int factor = options.level == Level::full ? 2 : 4;
    for (std::int64_t size = 16 * kKiB; size < largest; size *= factor) sizes.insert(size);
  }
  std::erase_if(sizes, [&](std::int64_t size) { return size >= largest; });
  sizes.insert(largest);
  return {sizes.begin(), sizes.end()};
}

// How much of a set is compared: all of it where that is quick, else both ends and parts between.
std::int64_t verified_bytes(const ProbeOptions& options) {
  if (options.level == Level::quick) return 64 * kMiB;
  return options.level == Level::standard ? 256 * kMiB : std::numeric_limits<std::int64_t>::max();
}

std::vector<Case> cases(const ProbeOptions& options) {
  const sys::Topology topology = sys::read_topology();
  const StreamKernels& kernels = stream_kernels();
  std::vector<Case> all;
  int group = 0;
  for (const int cores : core_counts(options)) {
    const auto team = std::make_shared<std::weak_ptr<Team>>();
    for (const std::int64_t size : working_sets(options, topology, cores)) {
      const auto arena = std::make_shared<std::weak_ptr<StreamArena>>();
      ++group;
      for (const StreamKernel kernel : kStreamKernels) {
        Case one{.params = {{"kernel", std::string(name_of(kernel))},
                            {"working_set_bytes", size},
                            {"cores", std::int64_t{cores}},
                            {"counting", std::string("stream")}},
                 .group = group};
        if (kernel == StreamKernel::nt_write && kernels.nt_write == nullptr) {
          one.skip = "no non-temporal stores on this architecture";
        }
        one.make = [=, &kernels] {
          std::shared_ptr<StreamArena> shared = arena->lock();
          if (!shared) {
            std::shared_ptr<Team> threads = team->lock();
            if (!threads) *team = threads = team_of(options, cores);
            *arena = shared = std::make_shared<StreamArena>(size, threads);
          }
          return std::make_unique<StreamSubject>(kernel, kernels, shared, verified_bytes(options));
        };
        all.push_back(std::move(one));
      }
    }
  }
  return all;
}

void conclude(Report& report) {
  std::int64_t largest = 0, caches = 0;
  double faults = 0;
  int last_level = 0;
  for (const Metric& metric : report.metrics) {
    const auto size = metric.params.find("working_set_bytes");
    if (size == metric.params.end()) continue;
    largest = std::max(largest, std::get<std::int64_t>(size->second));
    if (const auto found = metric.summary.find("page_faults"); found != metric.summary.end()) {
      faults += found->second;
    }
  }
  for (const CacheFact& cache : report.environment.caches) {
    if (cache.type == "instruction" || !cache.size_bytes || cache.level < last_level) continue;
    if (cache.level > last_level) caches = 0;
    last_level = cache.level;
    caches += *cache.size_bytes * cache.instances;
  }
  if (largest < 4 * caches) {
    report.findings.push_back(
        {.id = "memory.cache_limited",
         .severity = Severity::info,
         .message = "the largest working set, " + std::to_string(largest) +
                    " bytes, is less than four times the last-level caches (" +
                    std::to_string(caches) + " bytes in sum)",
         .effect = "bandwidth of memory may include some of the caches'",
         .fix = "free memory, raise its limit, use --level default or full, or ask with --size"});
  }
  constexpr double kFewFaults = 100;
  if (faults > kFewFaults) {
    report.findings.push_back({.id = "memory.page_faults",
                               .severity = Severity::warning,
                               .message = std::to_string(static_cast<std::int64_t>(faults)) +
                                          " page faults happened inside timed regions",
                               .effect = "the bandwidth of memory reads too low",
                               .fix = "look for memory pressure or automatic NUMA balancing"});
  }
}

}  // namespace
}  // namespace plimsoll::probes

int main(int argc, char** argv) {
  using plimsoll::probes::ProbeInfo;
  const ProbeInfo info{
      .id = "memory.stream_bandwidth",
      .question = "How many bytes a second can 1 to N cores move, by cache level and access?",
      .method =
          "pinned threads, each on memory that it touched first, run hand-written vector "
          "loops; bytes counted as STREAM does: 8, 8, 8, 16, 24 an element for read, write, "
          "nt_write, copy, triad",
      .metrics = {{.name = "memory.stream_bandwidth",
                   .unit = "B/s",
                   .meaning =
                       "bytes that the loop asked for, over time; the working set is that of "
                       "all arrays and cores together; lines read by plain stores before "
                       "they write are not counted",
                   .at_least = 1e8,
                   .at_most = 1e14}},
      .takes_sizes = true,
      .conclude = plimsoll::probes::conclude};
  return plimsoll::probes::run_probe(argc, argv, info, plimsoll::probes::cases);
}
