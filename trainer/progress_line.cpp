// Step, loss, samples a second (all ranks together) and time left.

#include "trainer/progress_line.hpp"

#include <chrono>
#include <cstdio>

#include "core/system/clock.hpp"
#include "core/system/terminal.hpp"

namespace plimsoll::trainer {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(500);

}  // namespace

ProgressLine::ProgressLine(const Progress& progress, std::int64_t batch)
    : progress_(progress), batch_(batch) {
  if (sys::progress_wanted()) thread_ = std::thread([this] { work(); });
}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  std::fputs("\r\033[K", stderr);
}

void ProgressLine::work() {
  Seconds begin(0);
  std::int64_t done_at_begin = 0;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kPeriod, [this] { return stop_; })) {
    const std::int64_t total = progress_.total.load();
    const std::int64_t done = progress_.done.load();
    if (done == 0) continue;
    const Seconds now = sys::now();
    if (done_at_begin == 0) {
      begin = now;
      done_at_begin = done;
      continue;
    }
    const double per_second = static_cast<double>(done - done_at_begin) / (now - begin).value();
    const double left = per_second > 0 ? static_cast<double>(total - done) / per_second : 0;
    std::fprintf(stderr, "\r\033[Kstep %lld of %lld  loss %.4f  %.0f samples/s  %.0f s left",
                 static_cast<long long>(done), static_cast<long long>(total), progress_.loss.load(),
                 per_second * static_cast<double>(batch_), left);
  }
}

}  // namespace plimsoll::trainer
