// A reader of timelines that takes nothing on trust: what Perfetto needs to draw one.

#pragma once

#include <map>
#include <string>
#include <vector>

namespace plimsoll::trainer::testing {

struct TracedSlice {
  std::string name;
  double begin_us = 0, end_us = 0;
  std::int64_t step = 0;
};
struct TraceFile {
  // "worker 0" -> "compute" -> its slices in the order of the file.
  std::map<std::string, std::map<std::string, std::vector<TracedSlice>>> tracks;
  std::vector<std::string> problems;  // none when all is well
};

// Well-formed events with all fields, every thread and process named once and before its slices,
// times that are not negative and on each track rise, slices that nest or follow each other.
[[nodiscard]] TraceFile read_trace(const std::string& text);

}  // namespace plimsoll::trainer::testing
