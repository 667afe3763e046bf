// A kernel under measurement: the same operator on several sets of operands in turn, by one team or
// by several at once, checked against the oracle.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probes/kernel/crew.hpp"
#include "probes/probe.hpp"
#include "trainer/backend/backend.hpp"

namespace plimsoll::probes {

// The operator on one set of operands.
struct Job {
  std::unique_ptr<trainer::Kernel> kernel;
  // Poisons results, executes, and says what is wrong with them, if anything.
  std::function<std::optional<std::string>()> check;
};
// Called in the thread that will execute, once a set; the same operands in the same order each
// time.
using MakeJob = std::function<Job(Placement& placement)>;

class Rotation final : public Subject {
 public:
  // `work`: of one operation, in the metric's unit. `source`: the library's name.
  Rotation(std::shared_ptr<Crew> crew, const MakeJob& make, double work, std::string source);
  ~Rotation() override;

  Seconds run(std::int64_t operations) override;
  // The timed team's kernel on its i-th set, once; in that team's thread.
  void call(std::int64_t i);
  [[nodiscard]] double work() const override { return work_; }
  [[nodiscard]] std::optional<std::string> verify() override;
  [[nodiscard]] std::string source() const override;

 private:
  std::shared_ptr<Crew> crew_;
  std::vector<std::vector<Job>> jobs_;  // by team and set
  double work_;
  std::string source_;
};

}  // namespace plimsoll::probes
