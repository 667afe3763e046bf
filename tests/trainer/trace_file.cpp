// Reads the Trace Event Format as far as timelines of ours use it.

#include "tests/trainer/trace_file.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll::trainer::testing {
namespace {

using Json = nlohmann::json;

class Reader {
 public:
  TraceFile read(const std::string& text) {
    const Json document = Json::parse(text, nullptr, false);
    if (document.is_discarded() || !document.is_object() || !document.contains("traceEvents")) {
      problem("not a JSON object with traceEvents");
      return file_;
    }
    for (const Json& event : document["traceEvents"]) {
      const std::string kind = event.value("ph", "");
      if (!event["pid"].is_number_integer() || !event["tid"].is_number_integer()) {
        problem("an event without process and thread");
      } else if (kind == "M") {
        name(event);
      } else if (kind == "X") {
        slice(event);
      } else {
        problem("an event of unknown kind '" + kind + "'");
      }
    }
    return file_;
  }

 private:
  void problem(const std::string& text) { file_.problems.push_back(text); }

  void name(const Json& event) {
    const std::string what = event.value("name", ""), given = event["args"].value("name", "");
    const int process = event["pid"], thread = event["tid"];
    if (given.empty()) problem("an empty name");
    if (what == "process_name") {
      if (!processes_.emplace(process, given).second) problem("a process is named twice");
    } else if (what == "thread_name") {
      if (!threads_.emplace(std::pair(process, thread), given).second) {
        problem("a thread is named twice");
      }
    } else {
      problem("unknown metadata '" + what + "'");
    }
  }

  void slice(const Json& event) {
    const int process = event["pid"], thread = event["tid"];
    const auto track = threads_.find({process, thread});
    if (!processes_.contains(process) || track == threads_.end()) {
      problem("a slice on a track without a name");
      return;
    }
    if (!event["ts"].is_number() || !event["dur"].is_number() || event.value("name", "").empty()) {
      problem("a slice without name, begin or duration");
      return;
    }
    const TracedSlice one{.name = event["name"],
                          .begin_us = event["ts"],
                          .end_us = event["ts"].get<double>() + event["dur"].get<double>(),
                          .step = event["args"].value("step", std::int64_t{-1})};
    const std::string where = processes_[process] + ", " + track->second + ", " + one.name;
    if (one.begin_us < 0 || one.end_us < one.begin_us) problem("times run backwards: " + where);
    // Rounded to doubles of microseconds: a nanosecond either way is no overlap.
    constexpr double kRounding = 1e-3;
    auto& open = open_[{process, thread}];
    auto& slices = file_.tracks[processes_[process]][track->second];
    if (!slices.empty() && one.begin_us < slices.back().begin_us) {
      problem("begins before the slice ahead of it: " + where);
    }
    while (!open.empty() && open.back() <= one.begin_us + kRounding) open.pop_back();
    if (!open.empty() && one.end_us > open.back() + kRounding) {
      problem("reaches out of the slice around it: " + where);
    }
    open.push_back(one.end_us);
    slices.push_back(one);
  }

  TraceFile file_;
  std::map<int, std::string> processes_;
  std::map<std::pair<int, int>, std::string> threads_;
  std::map<std::pair<int, int>, std::vector<double>> open_;  // ends of what a slice lies in
};

}  // namespace

TraceFile read_trace(const std::string& text) { return Reader().read(text); }

}  // namespace plimsoll::trainer::testing
