// Where the probe and trainer programs are: ../libexec/plimsoll beside the front command, in the
// build tree and in an installation alike, or $PLIMSOLL_LIBEXEC.

#pragma once

#include <string>

namespace plimsoll::tools {

[[nodiscard]] std::string libexec_directory();

// Full path of a program there; Error that names the path when it is missing.
[[nodiscard]] std::string program(const std::string& relative);

}  // namespace plimsoll::tools
