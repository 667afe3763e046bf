// Question   How many floating-point operations a second can 1 to N cores do at most?
// Method     Pinned threads run independent chains of multiply-adds that stay in registers, with
//            every data type and instruction set that the CPU offers at run time.
// Reports    cpu.flops.rate [FLOP/s] by dtype, instruction_set, cores; an FMA counts as two.
// Expect     16 to 64 FLOP a cycle and core in f32 with vectors, 1024 in bf16 with tiles.
// Beware     Clocks fall with wide vectors and with many busy cores; a neighbour on the same
//            physical core halves it. A ceiling: no real kernel reaches all of it.
// Verifies   Every block's sum over all lanes is an integer known in advance: work that was
//            skipped, merged or removed changes it.
// Feeds      Machine::ceilings, the compute roof of the operator model.

#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/system/provenance.hpp"
#include "probes/cpu/flops_kernels.hpp"
#include "probes/harness/cores.hpp"
#include "probes/harness/team.hpp"
#include "probes/probe.hpp"

namespace plimsoll::probes {
namespace {

constexpr double kFastestClock = 6.5e9;  // Hz; no core runs faster

class Chains final : public Subject {
 public:
  Chains(const FlopsKernel& kernel, std::shared_ptr<Team> team)
      : kernel_(kernel), team_(std::move(team)) {}

  Seconds run(std::int64_t operations) override {
    const double expected = kernel_.step_sum * static_cast<double>(kBlockIterations);
    return team_->run([&](int) {
      for (std::int64_t i = 0; i < operations; ++i) {
        if (kernel_.block() != expected) wrong_blocks_.fetch_add(1);
      }
    });
  }

  [[nodiscard]] double work() const override {
    return kernel_.flop_per_iteration * static_cast<double>(kBlockIterations) * team_->size();
  }

  [[nodiscard]] std::optional<std::string> verify() override {
    if (wrong_blocks_.load() == 0) return std::nullopt;
    return std::to_string(wrong_blocks_.load()) + " blocks gave a wrong sum";
  }

  [[nodiscard]] std::string source() const override {
    return "multiply-add chains, " + std::string(kernel_.instruction_set);
  }

 private:
  const FlopsKernel& kernel_;
  std::shared_ptr<Team> team_;
  std::atomic<std::int64_t> wrong_blocks_{0};
};

std::vector<Case> cases(const ProbeOptions& options) {
  std::vector<Case> all;
  for (const int cores : core_counts(options)) {
    const auto team = std::make_shared<std::weak_ptr<Team>>();
    for (const FlopsKernel& kernel : flops_kernels()) {
      Case one{.params = {{"dtype", std::string(kernel.dtype)},
                          {"instruction_set", std::string(kernel.instruction_set)},
                          {"cores", std::int64_t{cores}}}};
      one.at_most = kernel.flop_per_cycle * kFastestClock * cores;
      if (!kernel.requires_isa.empty() &&
          !sys::has_instruction_set(std::string(kernel.requires_isa))) {
        one.skip = "this CPU has no " + std::string(kernel.requires_isa);
      }
      one.make = [&kernel, team, options, cores] {
        if (const std::string_view refusal = kernel.prepare(); !refusal.empty()) {
          throw NotApplicable(std::string(refusal));
        }
        std::shared_ptr<Team> shared = team->lock();
        if (!shared) *team = shared = team_of(options, cores);
        return std::make_unique<Chains>(kernel, shared);
      };
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace
}  // namespace plimsoll::probes

int main(int argc, char** argv) {
  using plimsoll::probes::ProbeInfo;
  const ProbeInfo info{
      .id = "cpu.flops",
      .question = "How many floating-point operations a second can 1 to N cores do at most?",
      .method =
          "independent multiply-add chains in registers, one pinned thread a core, every "
          "instruction set found at run time",
      .metrics = {{.name = "cpu.flops.rate",
                   .unit = "FLOP/s",
                   .meaning = "peak rate of multiply-adds (two operations each) from registers",
                   .at_least = 1e8,
                   .at_most = 2e16}}};
  return plimsoll::probes::run_probe(argc, argv, info, plimsoll::probes::cases);
}
