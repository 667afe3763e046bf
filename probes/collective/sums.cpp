// One sum after the other: write, meet at a barrier, sum, take the time of the slowest rank.

#include "probes/collective/sums.hpp"

#include <algorithm>
#include <utility>

#include "core/statistics.hpp"
#include "core/system/clock.hpp"
#include "trainer/comm/threads/threads.hpp"

namespace plimsoll::probes {
namespace {

// Small whole numbers: sums of them are exact in a float in any order, for up to 2^17 ranks.
constexpr std::size_t kPeriod = 64;
float value_of(int rank, std::size_t i) {
  return static_cast<float>(i % kPeriod) + static_cast<float>(rank);
}
float sum_of(int ranks, std::size_t i) {
  return static_cast<float>(ranks) * static_cast<float>(i % kPeriod) +
         static_cast<float>(ranks) * static_cast<float>(ranks - 1) / 2;
}

// What backward leaves behind: every gradient just written by its own rank.
void write(std::span<float> buffer, int rank) {
  for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = value_of(rank, i);
}

}  // namespace

Sums::Sums(SumsOptions options) : options_(std::move(options)), buffers_(options_.cpus.size()) {
  on_ranks([this](trainer::Communicator& comm) {
    buffers_[static_cast<std::size_t>(comm.rank())] =
        sys::Buffer(Bytes(static_cast<double>(options_.bytes)), "gradients", sys::Page::huge);
  });
}

std::span<float> Sums::buffer(int rank) const {
  return buffers_[static_cast<std::size_t>(rank)].as<float>().first(
      static_cast<std::size_t>(options_.bytes) / sizeof(float));
}

void Sums::on_ranks(const std::function<void(trainer::Communicator&)>& work) const {
  std::vector<sys::CpuSet> cpus;
  for (const int cpu : options_.cpus) cpus.push_back({cpu});
  trainer::run_ranks({.ranks = ranks(), .algorithm = options_.algorithm, .cpus = cpus},
                     [&](trainer::Communicator& comm) {
                       const auto wrapped = options_.wrap ? options_.wrap(comm) : nullptr;
                       work(wrapped ? *wrapped : comm);
                     });
}

Seconds Sums::run(std::int64_t operations) {
  std::vector<std::vector<Seconds>> times(static_cast<std::size_t>(ranks()));
  on_ranks([&](trainer::Communicator& comm) {
    std::vector<Seconds>& mine = times[static_cast<std::size_t>(comm.rank())];
    mine.reserve(static_cast<std::size_t>(operations));
    const std::span<float> data = buffer(comm.rank());
    for (std::int64_t i = 0; i <= operations; ++i) {
      write(data, comm.rank());
      comm.barrier();
      const Seconds begin = sys::now();
      comm.wait(comm.all_reduce({.data = data.data(), .elements = std::ssize(data)}));
      if (i > 0) mine.push_back(sys::now() - begin);  // the first wakes everything up
    }
  });
  // A sum that met a thread of somebody else takes a thousand times longer: the median is what a
  // sum takes, the mean what happened to pass by.
  std::vector<double> slowest;
  for (std::size_t i = 0; i < static_cast<std::size_t>(operations); ++i) {
    Seconds time;
    for (const std::vector<Seconds>& rank : times) time = std::max(time, rank[i]);
    slowest.push_back(time.value());
  }
  return Seconds(median(slowest) * static_cast<double>(operations));
}

std::optional<std::string> Sums::verify() {
  run(1);
  for (int rank = 0; rank < ranks(); ++rank) {
    const std::span<const float> data = buffer(rank);
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (data[i] == sum_of(ranks(), i)) continue;
      return "element " + std::to_string(i) + " of rank " + std::to_string(rank) + " is " +
             std::to_string(data[i]) + ", not " + std::to_string(sum_of(ranks(), i));
    }
  }
  return std::nullopt;
}

std::string Sums::source() const {
  return "threads communicator, " + options_.algorithm + " all-reduce";
}

}  // namespace plimsoll::probes
