// What a flag may hold, and whether its file can be written.

#include "tools/plimsoll/flags.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <system_error>

#include "core/error.hpp"
#include "reports/report.hpp"

namespace plimsoll::tools {
namespace {

// The whole text as a number, or false: too large, too small, empty, something behind it.
template <class T>
bool parse(const std::string& text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end;
}

CLI::Validator finite(double least, double most, const std::string& wanted) {
  return {[=](std::string& text) {
            double value = 0;
            const bool fits =
                parse(text, value) && std::isfinite(value) && value >= least && value <= most;
            return fits ? std::string() : fmt::format("'{}' is not {}", text, wanted);
          },
          ""};
}

}  // namespace

CLI::Validator whole(std::int64_t least, std::int64_t most) {
  return {[=](std::string& text) {
            std::int64_t value = 0;
            if (parse(text, value) && value >= least && value <= most) return std::string();
            return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
          },
          ""};
}

CLI::Validator number(double least, double most) {
  return finite(least, most, fmt::format("a number from {:g} to {:g}", least, most));
}

CLI::Validator below_one() {
  return finite(0, std::nextafter(1.0, 0.0), "a number from 0 to below 1");
}

CLI::Validator positive() {
  return finite(std::numeric_limits<double>::min(), std::numeric_limits<double>::max(),
                "a finite number above 0");
}

void check_outputs(const std::string& out, const std::string& json) {
  if (out == "-" && json == "-") {
    throw usage_error("two documents cannot share stdout", "--out, --json",
                      "give at most one of them as -");
  }
  for (const std::string& path : {out, json}) {
    if (!path.empty()) reports::expect_writable(path);
  }
}

}  // namespace plimsoll::tools
