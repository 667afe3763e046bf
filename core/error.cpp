// Errors as text, and the end of a program that broke its promise.

#include "core/error.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace plimsoll {
namespace {

std::string joined(const std::string& what, const std::string& where, const std::string& fix) {
  std::string text = what;
  if (!where.empty()) text += "\n  where: " + where;
  if (!fix.empty()) text += "\n  fix:   " + fix;
  return text;
}

}  // namespace

Error::Error(std::string what, std::string where, std::string fix, ExitCode exit_code)
    : std::runtime_error(joined(what, where, fix)),
      what_(std::move(what)),
      where_(std::move(where)),
      fix_(std::move(fix)),
      exit_code_(exit_code) {}

Error usage_error(std::string what, std::string where, std::string fix) {
  return {std::move(what), std::move(where), std::move(fix), ExitCode::wrong_usage};
}

void expects(bool condition, std::string_view what, Place place) {
  if (condition) return;
  std::fprintf(stderr, "plimsoll: broken promise: %.*s\n  at %s:%d in %s\n",
               static_cast<int>(what.size()), what.data(), place.file, place.line, place.function);
  std::abort();
}

}  // namespace plimsoll
