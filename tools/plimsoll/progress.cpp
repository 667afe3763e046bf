// Progress and time left, on a terminal only.

#include "tools/plimsoll/progress.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "core/system/clock.hpp"
#include "core/system/terminal.hpp"

namespace plimsoll::tools {

ProgressLine::ProgressLine() : terminal_(sys::progress_wanted()), start_(sys::now()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(const std::string& what, double share_done) {
  if (!terminal_) return;
  const Seconds spent = sys::now() - start_;
  std::string left;
  if (share_done > 0.02) {
    left = fmt::format(", about {:.0f} s left", (spent * (1 / share_done - 1)).value());
  }
  fmt::print(stderr, "\r\033[K{}  {:.0f} %{}", what, 100 * share_done, left);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace plimsoll::tools
