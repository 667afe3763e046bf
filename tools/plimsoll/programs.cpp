// Where the probe and trainer binaries are.

#include "tools/plimsoll/programs.hpp"

#include <unistd.h>

#include <cstdlib>

#include "core/error.hpp"
#include "core/system/process.hpp"

namespace plimsoll::tools {

std::string libexec_directory() {
  const char* const given = std::getenv("PLIMSOLL_LIBEXEC");
  if (given != nullptr && *given != '\0') return given;
  return sys::own_directory() + "/../libexec/plimsoll";
}

std::string program(const std::string& relative) {
  const std::string path = libexec_directory() + "/" + relative;
  if (::access(path.c_str(), X_OK) == 0) return path;
  throw Error("the program '" + relative + "' is missing", path,
              "build or install plimsoll completely, or set PLIMSOLL_LIBEXEC");
}

}  // namespace plimsoll::tools
