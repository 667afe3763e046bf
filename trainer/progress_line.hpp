// One line on a terminal that says how far training is.

#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "trainer/train.hpp"

namespace plimsoll::trainer {

// Rewrites the line on stderr twice a second from a thread of its own until it is destroyed; does
// nothing at all when stderr is not a terminal, or a dumb one.
class ProgressLine {
 public:
  ProgressLine(const Progress& progress, std::int64_t batch);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  void work();
  const Progress& progress_;
  std::int64_t batch_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace plimsoll::trainer
