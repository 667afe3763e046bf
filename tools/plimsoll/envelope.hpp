// The envelope of a report that this command makes: id, time, tool, command, environment.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/record.hpp"

namespace plimsoll::tools {

// The environment is looked at here.
[[nodiscard]] Report envelope(Subject subject, const std::vector<std::string>& argv,
                              std::optional<std::int64_t> seed = {});
// The environment was looked at already.
[[nodiscard]] Report envelope(Subject subject, const std::vector<std::string>& argv,
                              std::optional<std::int64_t> seed, Environment environment);

}  // namespace plimsoll::tools
