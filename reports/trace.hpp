// A timeline as a file that Perfetto and chrome://tracing open: the Trace Event Format's complete
// events ("ph": "X") and names of processes and threads ("ph": "M").

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/units.hpp"

namespace plimsoll::reports {

// Something that took time on one stream of one worker. Slices of a track nest or follow each
// other.
struct TraceSlice {
  int worker = 0;
  std::string track;  // "compute", "communication", "communication hidden", "loader 0", ...
  std::string name;
  Seconds begin, end;     // since the trace began
  std::int64_t step = 0;  // which it belongs to
};

// A worker is a process, each of its tracks a thread of it, in the order of their first slice.
[[nodiscard]] std::string trace_json(const std::vector<TraceSlice>& slices);

}  // namespace plimsoll::reports
