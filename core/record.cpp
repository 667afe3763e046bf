// The names of the kinds of report, and the sum of phases.

#include "core/record.hpp"

namespace plimsoll {
namespace {
struct Name {
  std::string operator()(const MachineSubject&) const { return "machine"; }
  std::string operator()(const Prediction&) const { return "prediction"; }
  std::string operator()(const Run&) const { return "run"; }
  std::string operator()(const Validation&) const { return "validation"; }
  std::string operator()(const Comparison&) const { return "comparison"; }
};
}  // namespace

std::string kind_name(const Subject& subject) { return std::visit(Name{}, subject); }

Seconds total(const Phases& phases) {
  Seconds sum;
  for (const auto& [name, phase] : kNamedPhases) sum += phases.*phase;
  return sum;
}

}  // namespace plimsoll
