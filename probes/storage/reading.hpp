// One way to read the scratch file: block, depth, engine, past the page cache or from it.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "probes/operation_times.hpp"
#include "probes/probe.hpp"
#include "probes/storage/engine.hpp"
#include "probes/storage/scratch_file.hpp"

namespace plimsoll::probes {

enum class ReadQuantity { bandwidth, latency };

struct ReadPlan {
  std::int64_t block_bytes = 4096;
  bool random = true;  // else in sequence
  int depth = 1;
  bool direct = true;
  std::string engine, remark;  // remark: why not io_uring, why not direct
};

class Reading : public Subject {
 public:
  // The file must outlive it.
  Reading(ReadPlan plan, ReadQuantity quantity, const ScratchFile& file,
          std::unique_ptr<Engine> engine);

  // One operation is enough reads to keep the depth. A bandwidth takes the time of all; a latency
  // the sum of what each one took.
  Seconds run(std::int64_t operations) override;
  [[nodiscard]] double work() const override;
  [[nodiscard]] std::optional<std::string> verify() override;
  [[nodiscard]] std::map<std::string, double> summary() const override;
  [[nodiscard]] std::string source() const override;

 private:
  [[nodiscard]] std::size_t reads_each() const;
  std::int64_t next_offset();

  ReadPlan plan_;
  ReadQuantity quantity_;
  const ScratchFile& file_;
  std::unique_ptr<Engine> engine_;
  Slots slots_;
  OperationTimes times_;
  std::int64_t next_ = 0;
  std::mt19937_64 random_{1};
};

}  // namespace plimsoll::probes
