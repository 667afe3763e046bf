// Whether somebody watches: progress is for terminals only.

#pragma once

namespace plimsoll::sys {

// stderr is a terminal that can rewrite a line (TERM is set and not "dumb").
[[nodiscard]] bool progress_wanted();

}  // namespace plimsoll::sys
