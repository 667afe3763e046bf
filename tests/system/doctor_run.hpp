// Runs `plimsoll doctor --json -` as a user would and reads its report.

#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/system/process.hpp"
#include "reports/report.hpp"

namespace plimsoll::sys::testing {

using Variables = std::map<std::string, std::string>;

// `before` goes in front of the program ("taskset", "-c", "1").
inline ChildResult run_doctor(std::vector<std::string> arguments, Variables variables = {},
                              std::vector<std::string> before = {}) {
  ChildOptions options;
  options.argv = std::move(before);
  options.argv.insert(options.argv.end(), {PLIMSOLL_PROGRAM, "doctor"});
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.environment = std::move(variables);
  options.capture_out = options.capture_err = true;
  options.timeout = Seconds(60);
  return run_child(options);
}

inline Report doctor_report(const Variables& variables = {},
                            const std::vector<std::string>& before = {}) {
  const ChildResult result = run_doctor({"--json", "-"}, variables, before);
  if (result.exit_code != 0) throw std::runtime_error("doctor failed: " + result.err);
  return reports::from_json(result.out, "doctor");
}

inline const Finding* find(const Report& report, const std::string& id) {
  const auto at = std::find_if(report.findings.begin(), report.findings.end(),
                               [&](const Finding& finding) { return finding.id == id; });
  return at == report.findings.end() ? nullptr : &*at;
}

}  // namespace plimsoll::sys::testing
