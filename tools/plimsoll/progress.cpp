// Progress and time left, on a terminal only.

#include "tools/plimsoll/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/system/clock.hpp"

namespace plimsoll::tools {
namespace {

bool is_terminal() {
  const char* const term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::strcmp(term, "dumb") != 0;
}

}  // namespace

ProgressLine::ProgressLine() : terminal_(is_terminal()), start_(sys::now()) {}

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
