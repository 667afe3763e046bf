// Source: "Trace Event Format", Google, 2016: times are microseconds.

#include "reports/trace.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace plimsoll::reports {
namespace {

using Json = nlohmann::ordered_json;

double microseconds(Seconds time) { return time.value() * 1e6; }

Json name_event(const char* what, int process, int thread, const std::string& name) {
  return {
      {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

}  // namespace

std::string trace_json(const std::vector<TraceSlice>& slices) {
  Json events = Json::array();
  std::set<int> workers;
  std::map<std::pair<int, std::string>, int> threads;
  for (const TraceSlice& slice : slices) {
    if (workers.insert(slice.worker).second) {
      events.push_back(
          name_event("process_name", slice.worker, 0, "worker " + std::to_string(slice.worker)));
    }
    const int next = static_cast<int>(threads.size()) + 1;
    const auto [thread, added] = threads.try_emplace({slice.worker, slice.track}, next);
    if (added) {
      events.push_back(name_event("thread_name", slice.worker, thread->second, slice.track));
    }
    events.push_back({{"ph", "X"},
                      {"name", slice.name},
                      {"pid", slice.worker},
                      {"tid", thread->second},
                      {"ts", microseconds(slice.begin)},
                      {"dur", microseconds(slice.end - slice.begin)},
                      {"args", {{"step", slice.step}}}});
  }
  const Json document = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return document.dump() + "\n";
}

}  // namespace plimsoll::reports
