// Which offsets, how long, and whether the answer was right.

#include "probes/storage/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace plimsoll::probes {

Reading::Reading(ReadPlan plan, ReadQuantity quantity, const ScratchFile& file,
                 std::unique_ptr<Engine> engine)
    : plan_(std::move(plan)),
      quantity_(quantity),
      file_(file),
      engine_(std::move(engine)),
      slots_(plan_.depth, plan_.block_bytes) {
  if (!plan_.direct) file_.warm_cache();
}

Seconds Reading::run(std::int64_t operations) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(operations) * reads_each());
  std::ranges::generate(offsets, [this] { return next_offset(); });
  std::vector<double> times(offsets.size());
  const int fd = plan_.direct ? file_.direct() : file_.cached();
  const Seconds all = engine_->read(fd, offsets, slots_, times);
  Seconds sum;
  for (const double time : times) {
    sum += Seconds(time);
    times_.add(Seconds(time));
  }
  return quantity_ == ReadQuantity::bandwidth ? all : sum;
}

double Reading::work() const {
  const auto reads = static_cast<double>(reads_each());
  return quantity_ == ReadQuantity::bandwidth ? reads * static_cast<double>(plan_.block_bytes)
                                              : reads;
}

std::optional<std::string> Reading::verify() {
  for (std::size_t slot = 0; slot < slots_.offsets.size(); ++slot) {
    const std::int64_t offset = slots_.offsets[slot];
    if (offset >= 0 && !holds_pattern(slots_.block(slot), offset)) {
      return fmt::format("the block read at byte {} is not what was written there", offset);
    }
  }
  return std::nullopt;
}

std::map<std::string, double> Reading::summary() const {
  std::map<std::string, double> figures = times_.summary();
  figures["file_bytes"] = static_cast<double>(file_.size());
  if (!plan_.direct) figures["cached_possible"] = 1;
  return figures;
}

std::string Reading::source() const {
  return fmt::format("{}, {} on {}{}",
                     plan_.engine == "threads" ? "threads with pread" : "io_uring",
                     file_.file_system().type, file_.file_system().device, plan_.remark);
}

std::size_t Reading::reads_each() const {
  if (plan_.depth > 1) return 2 * static_cast<std::size_t>(plan_.depth);
  return plan_.random ? 16 : 1;  // one slow read must not decide a sample's length
}

std::int64_t Reading::next_offset() {
  const std::int64_t blocks = file_.size() / plan_.block_bytes;
  if (!plan_.random) return next_++ % blocks * plan_.block_bytes;
  return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(blocks)) *
         plan_.block_bytes;
}

}  // namespace plimsoll::probes
