// A temporary folder that goes with its owner.

#include "tools/plimsoll/scratch.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/error.hpp"

namespace plimsoll::tools {

ScratchDirectory::ScratchDirectory() {
  const char* const given = std::getenv("TMPDIR");
  path_ = (given != nullptr && *given != '\0') ? given : "/tmp";
  path_ += "/plimsoll-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) {
    throw Error(std::string("no temporary directory: ") + std::strerror(errno), path_,
                "set TMPDIR to a directory that can be written");
  }
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace plimsoll::tools
