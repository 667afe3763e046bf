// Holds a JSON text against one of our schemas, with valijson.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::reports::testing {

// What is wrong, one line each, empty when the document fits. `kind` "" takes the document's own.
// `closed` also refuses fields that the schema does not describe: for what we write ourselves.
[[nodiscard]] std::vector<std::string> schema_errors(std::string_view text, std::string kind = "",
                                                     bool closed = false);

}  // namespace plimsoll::reports::testing
