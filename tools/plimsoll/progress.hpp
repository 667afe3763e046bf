// One line of progress on stderr, rewritten in place; nothing at all unless stderr is a terminal.

#pragma once

#include <string>

#include "core/units.hpp"

namespace plimsoll::tools {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  // "lenet-b256-w2  41 %, about 35 s left"; share_done in [0, 1].
  void show(const std::string& what, double share_done);
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  Seconds start_;
};

}  // namespace plimsoll::tools
