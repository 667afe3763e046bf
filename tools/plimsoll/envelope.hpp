// The envelope of a report that this command makes: id, time, tool, command, environment.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/record.hpp"

namespace plimsoll::tools {

[[nodiscard]] Report envelope(Subject subject, const std::vector<std::string>& argv,
                              std::optional<std::int64_t> seed = {});

}  // namespace plimsoll::tools
