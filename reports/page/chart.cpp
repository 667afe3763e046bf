// The list of questions that a page answers.

#include "reports/page/chart.hpp"

#include <variant>

namespace plimsoll::reports {

std::vector<Chart> charts(const Reports& reports) {
  std::vector<Chart> out;
  add_step_times(reports, out);
  add_step_errors(reports, out);
  add_step_phases(reports, out);
  add_limits(reports, out);
  add_sensitivity(reports, out);
  add_loss(reports, out);

  std::size_t machines = 0;
  for (const Report& report : reports) {
    machines += std::holds_alternative<MachineSubject>(report.subject) ? 1 : 0;
  }
  std::size_t number = 0;
  for (const Report& report : reports) {
    if (!std::holds_alternative<MachineSubject>(report.subject)) continue;
    const std::size_t first = out.size();
    add_load_latency(report, out);
    add_stream_bandwidth(report, out);
    add_matmul_roofline(report, out);
    add_all_reduce(report, out);
    ++number;
    if (machines == 1) continue;
    for (std::size_t i = first; i < out.size(); ++i) {
      out[i].id += "-" + std::to_string(number);
      out[i].table.name += "-" + std::to_string(number);
      out[i].title += " (" + report.environment.hostname + ", " + report.created + ")";
    }
  }
  return out;
}

}  // namespace plimsoll::reports
