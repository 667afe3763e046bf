// The optional parts of this build (PLIMSOLL_<PART> in CMake): what was found, what is missing, and
// what that turns off. Compiled in from tools/cmake/Dependencies.cmake.

#pragma once

#include <span>
#include <string_view>

namespace plimsoll::sys {

struct Part {
  std::string_view name;   // CUDA, NCCL, ...
  std::string_view state;  // on | missing | off
  std::string_view loses;  // what is not there without it
  std::string_view fix;    // how to get it
};

[[nodiscard]] std::span<const Part> parts();

}  // namespace plimsoll::sys
