// What the build knew about itself; the source is generated in the build tree.

#pragma once

#include <string_view>

namespace plimsoll::sys {

struct BuildInfo {
  std::string_view version, git_commit, compiler, flags, build_type;
  bool git_dirty;
};

[[nodiscard]] BuildInfo build_info();

}  // namespace plimsoll::sys
