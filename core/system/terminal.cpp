// Asked of stderr, where everything goes that is not a result.

#include "core/system/terminal.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace plimsoll::sys {

bool progress_wanted() {
  const char* const terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

}  // namespace plimsoll::sys
