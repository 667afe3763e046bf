// The folder that run and validate fill: predictions/, runs/ and the reports beside them.

#pragma once

#include <string>

namespace plimsoll::tools {

// Makes the folder and proves that a report can be written there: what can go wrong with it goes
// wrong now, before minutes are spent. `last` is the report that tells an earlier result (for
// example machine.json): with one in the folder this is a usage error, or, with `force`, the
// reports of that result are removed, so that old and new are never shown together.
void prepare_folder(const std::string& directory, const std::string& last, bool force);

}  // namespace plimsoll::tools
