// Who made a report, when and on what machine.

#include "tools/plimsoll/envelope.hpp"

#include <utility>

#include "core/system/provenance.hpp"
#include "reports/report.hpp"

namespace plimsoll::tools {

Report envelope(Subject subject, const std::vector<std::string>& argv,
                std::optional<std::int64_t> seed) {
  return envelope(std::move(subject), argv, seed, sys::describe_environment());
}

Report envelope(Subject subject, const std::vector<std::string>& argv,
                std::optional<std::int64_t> seed, Environment environment) {
  Report report;
  report.id = reports::new_id();
  report.created = reports::now_rfc3339();
  report.tool = sys::describe_tool();
  report.command = sys::describe_command(argv, seed);
  report.environment = std::move(environment);
  report.subject = std::move(subject);
  return report;
}

}  // namespace plimsoll::tools
