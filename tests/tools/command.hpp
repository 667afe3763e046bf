// Runs the real front command and looks at what it leaves behind.

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/system/process.hpp"
#include "reports/report.hpp"
#include "tools/plimsoll/scratch.hpp"

namespace plimsoll::test {

inline std::string front() { return std::string(PLIMSOLL_BUILD_DIR) + "/bin/plimsoll"; }

// `before` goes in front of the command, e.g. {"taskset", "-c", "0"}.
inline sys::ChildResult plimsoll(std::vector<std::string> arguments, Seconds timeout = Seconds(120),
                                 std::vector<std::string> before = {}) {
  sys::ChildOptions options;
  options.argv = std::move(before);
  options.argv.push_back(front());
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.capture_out = true;
  options.capture_err = true;
  options.timeout = timeout;
  return sys::run_child(options);
}

// Empty when every file is valid against our schema, else what the validator says.
inline std::string invalid(const std::vector<std::string>& files) {
  sys::ChildOptions options;
  options.argv = {std::string(PLIMSOLL_BUILD_DIR) + "/tests/reports/validate_report"};
  options.argv.insert(options.argv.end(), files.begin(), files.end());
  options.capture_out = true;
  options.capture_err = true;
  const sys::ChildResult result = sys::run_child(options);
  return result.exit_code == 0 ? "" : result.out + result.err;
}

inline std::vector<std::string> json_files(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  return files;
}

}  // namespace plimsoll::test
