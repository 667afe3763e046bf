// One kernel of memory.stream_bandwidth on one arena: timed, and proven right.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "probes/memory/stream_arena.hpp"
#include "probes/memory/stream_kernels.hpp"
#include "probes/probe.hpp"

namespace plimsoll::probes {

enum class StreamKernel { read, write, nt_write, copy, triad };
inline constexpr StreamKernel kStreamKernels[] = {StreamKernel::read, StreamKernel::write,
                                                  StreamKernel::nt_write, StreamKernel::copy,
                                                  StreamKernel::triad};
[[nodiscard]] std::string_view name_of(StreamKernel kernel);
[[nodiscard]] int arrays_of(StreamKernel kernel);  // as STREAM counts bytes: 8 an element each

class StreamSubject final : public Subject {
 public:
  // One operation is one block by every thread. verify() compares `verified_bytes` at most.
  StreamSubject(StreamKernel kernel, const StreamKernels& kernels,
                std::shared_ptr<StreamArena> arena, std::int64_t verified_bytes);

  Seconds run(std::int64_t operations) override;
  [[nodiscard]] double work() const override;
  [[nodiscard]] std::optional<std::string> verify() override;
  [[nodiscard]] std::map<std::string, double> summary() const override;
  [[nodiscard]] std::string source() const override;

 private:
  double pass(int thread, std::int64_t block) const;  // the timed work: one block
  std::optional<std::string> check_block(int thread, std::int64_t block) const;

  StreamKernel kernel_;
  const StreamKernels& kernels_;
  std::shared_ptr<StreamArena> arena_;
  std::int64_t verified_bytes_;
  std::int64_t faults_ = 0;
};

}  // namespace plimsoll::probes
