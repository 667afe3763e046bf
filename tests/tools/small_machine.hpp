// A machine report that is just enough to predict the mlp.

#pragma once

#include <string>
#include <utility>

#include "reports/report.hpp"

namespace plimsoll::test {

inline Metric metric(const std::string& name, const std::string& unit, Params params,
                     double value) {
  Metric m;
  m.name = name;
  m.unit = unit;
  m.params = std::move(params);
  m.value = value;
  return m;
}

inline ParamValue count(std::int64_t v) { return v; }
inline ParamValue text(const char* v) { return std::string(v); }

// A machine of one core that knows what the mlp needs.
inline Report machine_report() {
  Report report;
  report.id = reports::new_id();
  report.created = reports::now_rfc3339();
  report.environment.usable_cpus = "0";
  report.environment.memory_bytes = 1'000'000'000;
  report.subject = MachineSubject{.level = "quick", .probes = {}, .missing = {}, .partial = false};
  for (const char* direction : {"forward", "backward_data", "backward_weights"}) {
    for (const std::int64_t n : {8, 2048}) {
      for (const std::int64_t m : {16, 2048}) {
        report.metrics.push_back(metric("kernel.matmul.rate", "FLOP/s",
                                        {{"m", count(m)},
                                         {"n", count(n)},
                                         {"k", count(512)},
                                         {"dtype", text("f32")},
                                         {"threads", count(1)},
                                         {"busy_cores", count(0)},
                                         {"direction", text(direction)}},
                                        5e10));
      }
    }
  }
  for (const char* operation : {"relu_forward", "relu_backward", "softmax_cross_entropy_forward",
                                "softmax_cross_entropy_backward", "sgd_momentum", "gather_u8"}) {
    report.metrics.push_back(metric("kernel.elementwise.bandwidth", "B/s",
                                    {{"operation", text(operation)},
                                     {"bytes", count(1'000'000)},
                                     {"threads", count(1)},
                                     {"busy_cores", count(0)}},
                                    8e9));
  }
  return report;
}

}  // namespace plimsoll::test
