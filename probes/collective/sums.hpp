// Ranks that sum buffers of theirs, as the collective probes time it: written as training writes
// them, checked against sums that are known exactly.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/system/buffer.hpp"
#include "probes/probe.hpp"
#include "trainer/comm/communicator.hpp"

namespace plimsoll::probes {

struct SumsOptions {
  std::int64_t bytes = 4;
  std::vector<int> cpus;  // of each rank
  std::string algorithm = "native";
  // For tests: stands between the ranks and their communicator.
  std::function<std::unique_ptr<trainer::Communicator>(trainer::Communicator&)> wrap;
};

class Sums final : public Subject {
 public:
  explicit Sums(SumsOptions options);
  Seconds run(std::int64_t operations) override;
  [[nodiscard]] double work() const override { return 1.0; }
  [[nodiscard]] std::optional<std::string> verify() override;
  [[nodiscard]] std::string source() const override;

 private:
  void on_ranks(const std::function<void(trainer::Communicator&)>& work) const;
  [[nodiscard]] std::span<float> buffer(int rank) const;
  [[nodiscard]] int ranks() const { return static_cast<int>(options_.cpus.size()); }

  SumsOptions options_;
  std::vector<sys::Buffer> buffers_;  // by rank, touched by it
};

}  // namespace plimsoll::probes
