// Runs and checks one stream kernel, block by block, in the threads that own the blocks.

#include "probes/memory/stream_subject.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace plimsoll::probes {
namespace {

constexpr double kValue = 3.0, kScale = 2.0, kPoison = -1.0;

// Small integers with a period that is no power of two: every page looks different, every sum is
// exact.
double pattern(std::size_t index, int array) {
  return static_cast<double>((index + static_cast<std::size_t>(array) * 7) % 1021 + 1);
}

std::int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

}  // namespace

std::string_view name_of(StreamKernel kernel) {
  constexpr std::string_view kNames[] = {"read", "write", "nt_write", "copy", "triad"};
  return kNames[static_cast<std::size_t>(kernel)];
}

int arrays_of(StreamKernel kernel) {
  constexpr int kArrays[] = {1, 1, 1, 2, 3};
  return kArrays[static_cast<std::size_t>(kernel)];
}

StreamSubject::StreamSubject(StreamKernel kernel, const StreamKernels& kernels,
                             std::shared_ptr<StreamArena> arena, std::int64_t verified_bytes)
    : kernel_(kernel),
      kernels_(kernels),
      arena_(std::move(arena)),
      verified_bytes_(verified_bytes) {}

double StreamSubject::pass(int thread, std::int64_t block) const {
  const int arrays = arrays_of(kernel_);
  const std::size_t count = arena_->chunk(arrays);
  double* const a = arena_->at(thread, block, 0, arrays);
  switch (kernel_) {
    case StreamKernel::read:
      return kernels_.read(a, count);
    case StreamKernel::write:
      kernels_.write(a, kValue, count);
      return 0;
    case StreamKernel::nt_write:
      kernels_.nt_write(a, kValue, count);
      return 0;
    case StreamKernel::copy:
      kernels_.copy(a, arena_->at(thread, block, 1, arrays), count);
      return 0;
    case StreamKernel::triad:
      kernels_.triad(a, arena_->at(thread, block, 1, arrays), arena_->at(thread, block, 2, arrays),
                     kScale, count);
      return 0;
  }
  expects(false, "stream: unknown kernel");
  return 0;
}

Seconds StreamSubject::run(std::int64_t operations) {
  const std::int64_t first = arena_->advance(operations);
  const std::int64_t blocks = arena_->blocks();
  const std::int64_t before = page_faults();
  const Seconds time = arena_->team().run([&](int thread) {
    std::int64_t block = first;
    double sum = 0;
    for (std::int64_t i = 0; i < operations; ++i) {
      sum += pass(thread, block);
      if (++block == blocks) block = 0;
    }
    __asm__ volatile("" : : "r"(&sum) : "memory");  // the sum is wanted: no read may be left out
  });
  faults_ += page_faults() - before;
  return time;
}

double StreamSubject::work() const {
  const int arrays = arrays_of(kernel_);
  return static_cast<double>(arena_->chunk(arrays)) * sizeof(double) * arrays *
         arena_->team().size();
}

std::optional<std::string> StreamSubject::check_block(int thread, std::int64_t block) const {
  const int arrays = arrays_of(kernel_);
  const std::size_t count = arena_->chunk(arrays);
  const bool writes = kernel_ != StreamKernel::read;
  double* const a = arena_->at(thread, block, 0, arrays);
  double expected_sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = writes ? kPoison : pattern(i, 0);
    expected_sum += a[i];
  }
  for (int array = 1; array < arrays; ++array) {
    double* const input = arena_->at(thread, block, array, arrays);
    for (std::size_t i = 0; i < count; ++i) input[i] = pattern(i, array);
  }
  const double sum = pass(thread, block);
  if (!writes) {
    if (sum == expected_sum) return std::nullopt;
    return "block " + std::to_string(block) + ": the sum is not that of the data";
  }
  for (std::size_t i = 0; i < count; ++i) {
    double expected = kValue;
    if (kernel_ == StreamKernel::copy) expected = pattern(i, 1);
    if (kernel_ == StreamKernel::triad) expected = pattern(i, 1) + kScale * pattern(i, 2);
    if (a[i] == expected) continue;
    return "block " + std::to_string(block) + ", element " + std::to_string(i) + ": " +
           std::to_string(a[i]) + " instead of " + std::to_string(expected);
  }
  return std::nullopt;
}

std::optional<std::string> StreamSubject::verify() {
  Team& team = arena_->team();
  const auto block_bytes = static_cast<std::int64_t>(arena_->chunk(1) * sizeof(double));
  const std::int64_t affordable =
      std::max<std::int64_t>(2, verified_bytes_ / block_bytes / team.size());
  const std::int64_t checked = std::min(arena_->blocks(), affordable);
  std::vector<std::optional<std::string>> wrong(static_cast<std::size_t>(team.size()));
  team.run([&](int thread) {
    std::optional<std::string>& mine = wrong[static_cast<std::size_t>(thread)];
    for (std::int64_t i = 0; i < checked && !mine; ++i) {
      // Both ends, and evenly between them.
      const std::int64_t block = checked == 1 ? 0 : i * (arena_->blocks() - 1) / (checked - 1);
      mine = check_block(thread, block);
    }
  });
  for (const auto& one : wrong) {
    if (one) return std::string(name_of(kernel_)) + ", " + *one;
  }
  return std::nullopt;
}

std::map<std::string, double> StreamSubject::summary() const {
  return {{"page_faults", static_cast<double>(faults_)}, {"huge_bytes", arena_->huge_bytes()}};
}

std::string StreamSubject::source() const {
  return "stream kernels, " + std::string(kernels_.instruction_set);
}

}  // namespace plimsoll::probes
