// Question   Does the harness report a number when it must not?
// Method     Subjects that misbehave in one way each, run by the real harness in a binary of its
//            own that is built for tests only.
// Reports    broken.time [s] by subject: only "sound" and "implausible" may have a value.
// Expect     Statuses as tests/broken/broken_test.cpp spells them out.
// Beware     Nothing of this is installed.
// Verifies   Each subject says itself what is wrong, or nothing.
// Feeds      Nothing.

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "probes/probe.hpp"

namespace plimsoll::probes {
namespace {

class Misbehaving final : public Subject {
 public:
  explicit Misbehaving(std::string how) : how_(std::move(how)) {}

  Seconds run(std::int64_t operations) override {
    ++runs_;
    const double honest = 1e-4 * static_cast<double>(operations);
    if (how_ == "throws_in_run") throw Error("the device is gone", "here", "bring it back");
    if (how_ == "throws_later" && runs_ > 6) throw std::runtime_error("out of luck");
    if (how_ == "nan") return Seconds(std::numeric_limits<double>::quiet_NaN());
    if (how_ == "infinite") return Seconds(std::numeric_limits<double>::infinity());
    if (how_ == "negative") return Seconds(-honest);
    if (how_ == "zero") return Seconds(0);
    if (how_ == "sometimes_negative" && runs_ % 7 == 6) return Seconds(-honest);
    if (how_ == "often_negative" && runs_ > 4 && runs_ % 2 == 0) return Seconds(-honest);
    if (how_ == "implausible") return Seconds(1e6 * honest);
    return Seconds(honest);
  }
  [[nodiscard]] double work() const override { return 1; }
  [[nodiscard]] std::optional<std::string> verify() override {
    ++checks_;
    if (how_ == "wrong") return "one plus one gave three";
    if (how_ == "wrong_at_the_end" && checks_ > 1) return "the last answer is stale";
    if (how_ == "throws_in_verify") throw std::runtime_error("cannot read the answer");
    return std::nullopt;
  }
  [[nodiscard]] std::map<std::string, double> summary() const override {
    return {{"not_a_number", std::numeric_limits<double>::quiet_NaN()}};
  }

 private:
  std::string how_;
  int runs_ = 0, checks_ = 0;
};

std::unique_ptr<Subject> make(const std::string& how) {
  if (how == "throws_in_make") throw Error("no such device", "slot 3", "plug it in");
  if (how == "makes_nothing") return nullptr;
  if (how == "not_offered") throw NotApplicable("this machine has none");
  return std::make_unique<Misbehaving>(how);
}

std::vector<Case> cases(const ProbeOptions&) {
  std::vector<Case> all;
  for (const std::string how :
       {"sound", "wrong", "wrong_at_the_end", "throws_in_make", "throws_in_run", "throws_later",
        "throws_in_verify", "makes_nothing", "not_offered", "nan", "infinite", "negative", "zero",
        "sometimes_negative", "often_negative", "implausible"}) {
    all.push_back({.params = {{"subject", how}}, .make = [how] { return make(how); }});
  }
  all.push_back({.params = {{"subject", std::string("skipped")}},
                 .make = [] { return make("sound"); },
                 .skip = "needs another machine"});
  return all;
}

}  // namespace
}  // namespace plimsoll::probes

int main(int argc, char** argv) {
  using plimsoll::probes::ProbeInfo;
  const ProbeInfo info{.id = "broken.subjects",
                       .question = "Does the harness report a number when it must not?",
                       .method = "subjects that misbehave in one way each",
                       .metrics = {{.name = "broken.time",
                                    .unit = "s",
                                    .meaning = "time of nothing",
                                    .at_least = 1e-9,
                                    .at_most = 1.0}}};
  return plimsoll::probes::run_probe(argc, argv, info, plimsoll::probes::cases);
}
