// Question   How fast does this directory's device give data back, in small and in large pieces?
// Method     A nameless scratch file of our own is filled with data that cannot be compressed or
//            guessed, forced to the device and read back. Then reads of 4 KiB at random and of 1
//            MiB in sequence, 1 and 32 in flight, past the page cache (O_DIRECT); and, apart, from
//            it.
// Reports    storage.read.bandwidth and storage.read.latency by block, depth, engine and pattern;
//            percentiles of single reads in the summary (operation_p99_s and so on).
// Expect     Latency 1e-5..1e-4 s on flash, 5e-3 s on disks, 1e-6 s from the page cache;
//            bandwidth 1e8..1e10 B/s.
// Beware     It measures the file system of --dir; without it, of the first of $TMPDIR, /var/tmp
// and
//            /tmp that is not in memory: the metric's source says which. direct:false is the page
//            cache, never the device. A virtual disk is its host's cache. The engine is part of the
//            result: io_uring and threads differ by a quarter at depth 1.
// Verifies   Every word of the file before, and of the blocks last read after; a short read fails.
// Feeds      Machine::storage, through models/fit/transfers.cpp.

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "probes/probe.hpp"
#include "probes/storage/engine.hpp"
#include "probes/storage/reading.hpp"
#include "probes/storage/scratch_file.hpp"

namespace plimsoll::probes {
namespace {

constexpr std::int64_t kSmall = 4096;
constexpr std::int64_t kLarge = 1 << 20;
constexpr int kDeep = 32;

// The scratch file is written when the first case needs it and shared by all.
struct Shared {
  std::string directory;
  Bytes size;
  std::unique_ptr<ScratchFile> file;
  const ScratchFile& ready() {
    if (!file) file = std::make_unique<ScratchFile>(directory, size);
    return *file;
  }
};

Bytes file_size(const ProbeOptions& options) {
  if (!options.sizes.empty()) return Bytes(static_cast<double>(options.sizes.front()));
  switch (options.level) {
    case Level::quick:
      return Bytes(64 << 20);
    case Level::standard:
      return Bytes(256 << 20);
    case Level::full:
      break;
  }
  return Bytes(1 << 30);
}

// What this directory and kernel allow, found out with a small file before anything is promised.
struct Trial {
  EngineChoice engine = choose_engine();
  std::string direct_refused;
  std::exception_ptr unusable;
};

Trial try_out(const std::string& directory, Bytes size) {
  Trial trial;
  try {
    ScratchFile::require_room(directory, size);
    trial.direct_refused = ScratchFile(directory, Bytes(kLarge)).direct_refused();
  } catch (const Error&) {
    trial.unusable = std::current_exception();
  }
  return trial;
}

Case make_case(ReadQuantity quantity, const ReadPlan& how, std::exception_ptr unusable,
               const std::shared_ptr<Shared>& shared) {
  return {.metric = static_cast<std::size_t>(quantity),
          .params = {{"block_bytes", how.block_bytes},
                     {"queue_depth", std::int64_t{how.depth}},
                     {"engine", how.engine},
                     {"direct", how.direct},
                     {"pattern", std::string(how.random ? "random" : "sequential")}},
          .make = [=]() -> std::unique_ptr<Subject> {
            if (unusable) std::rethrow_exception(unusable);
            return std::make_unique<Reading>(how, quantity, shared->ready(),
                                             make_engine(how.engine, how.depth));
          },
          .skip = {},
          .group = how.direct ? 0 : 1};
}

std::vector<Case> cases(const ProbeOptions& options) {
  const bool named = !options.directory.empty();
  const std::string directory = named ? options.directory : default_directory();
  const Bytes size = file_size(options);
  const Trial trial = try_out(directory, size);
  const auto shared = std::make_shared<Shared>(Shared{directory, size, nullptr});
  std::string remark;  // the file system is told in any case
  if (!named) remark += "; in " + directory + ", as no directory was named";
  if (!trial.engine.why.empty()) remark += "; no io_uring: " + trial.engine.why;
  std::vector<Case> list;
  const auto add = [&](const ReadPlan& how) {
    for (const ReadQuantity quantity : {ReadQuantity::bandwidth, ReadQuantity::latency}) {
      list.push_back(make_case(quantity, how, trial.unusable, shared));
    }
  };
  if (trial.unusable) {  // said once, not for every size and depth
    add({.engine = trial.engine.name});
    return list;
  }
  if (trial.direct_refused.empty()) {
    for (const std::int64_t block : {kSmall, kLarge}) {
      for (const int depth : {1, kDeep}) {
        add({.block_bytes = block,
             .random = block == kSmall,
             .depth = depth,
             .direct = true,
             .engine = trial.engine.name,
             .remark = remark});
      }
    }
  } else {
    remark += fmt::format("; no direct reads in {}: {}", directory, trial.direct_refused);
  }
  for (const std::int64_t block : {kSmall, kLarge}) {
    add({.block_bytes = block,
         .random = block == kSmall,
         .depth = 1,
         .direct = false,
         .engine = "threads",
         .remark = remark});
  }
  return list;
}

// Said once a report, however many metrics it concerns.
void conclude(Report& report) {
  bool any_direct = false;
  std::string source;
  for (const Metric& metric : report.metrics) {
    if (!metric.name.starts_with("storage.read.") || metric.source.empty()) continue;
    source = metric.source;
    any_direct = any_direct || std::get<bool>(metric.params.at("direct"));
  }
  if (source.empty()) return;
  if (!any_direct && source.find("; no direct reads") != std::string::npos) {
    report.findings.push_back(
        {.id = "storage.no_direct_reads",
         .severity = Severity::warning,
         .message = source.substr(source.find("no direct reads")),
         .effect = "only the page cache could be measured; the device's speed is unknown",
         .fix = "name a directory on a disk: --dir DIR"});
  }
  if (const std::size_t at = source.find("; no io_uring"); at != std::string::npos) {
    report.findings.push_back({.id = "storage.no_io_uring",
                               .severity = Severity::info,
                               .message = source.substr(at + 2, source.find(';', at + 2) - at - 2),
                               .effect = "threads with pread were used instead: slower at depth 1",
                               .fix = "allow io_uring_setup (sysctl, container profile)"});
  }
}

const ProbeInfo kInfo{
    .id = "storage.read",
    .question = "How fast does this directory's device give data back?",
    .method = "Reads of a nameless scratch file of random data, past the page cache and from it",
    .metrics = {{.name = "storage.read.bandwidth",
                 .unit = "B/s",
                 .meaning = "Bytes read per second, queue_depth reads in flight",
                 .at_least = 1e4,
                 .at_most = 3e11},
                {.name = "storage.read.latency",
                 .unit = "s",
                 .meaning = "Mean time of one read, queue_depth of them in flight",
                 .at_least = 5e-8,
                 .at_most = 10}},
    .takes_sizes = true,
    .conclude = conclude};

}  // namespace
}  // namespace plimsoll::probes

int main(int argc, char** argv) {
  return plimsoll::probes::run_probe(argc, argv, plimsoll::probes::kInfo, plimsoll::probes::cases);
}
