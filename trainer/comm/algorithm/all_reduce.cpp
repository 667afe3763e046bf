// The list of algorithms, and the arithmetic that they share.

#include "trainer/comm/algorithm/all_reduce.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/error.hpp"

namespace plimsoll::trainer {
namespace {

constexpr std::array kAlgorithms{AllReduceAlgorithm{"native", native_all_reduce},
                                 AllReduceAlgorithm{"ring", ring_all_reduce}};
constexpr std::int64_t kLine = 64 / sizeof(float);  // two ranks never write one cache line

}  // namespace

std::span<const AllReduceAlgorithm> all_reduce_algorithms() { return kAlgorithms; }

const AllReduceAlgorithm& all_reduce_algorithm(std::string_view name) {
  std::string known;
  for (const AllReduceAlgorithm& algorithm : kAlgorithms) {
    if (algorithm.name == name) return algorithm;
    known += (known.empty() ? "" : ", ") + std::string(algorithm.name);
  }
  throw usage_error("unknown all-reduce algorithm '" + std::string(name) + "'", "--algorithm",
                    "choose one of: " + known);
}

std::span<float> part_of(std::span<float> data, int index, int parts) {
  const auto elements = static_cast<std::int64_t>(data.size());
  const std::int64_t lines = (elements + kLine - 1) / kLine;
  const auto start = [&](std::int64_t i) {
    const std::int64_t line = i * (lines / parts) + std::min<std::int64_t>(i, lines % parts);
    return std::min(line * kLine, elements);
  };
  const std::int64_t begin = start(index);
  return data.subspan(static_cast<std::size_t>(begin),
                      static_cast<std::size_t>(start(index + 1) - begin));
}

void add(std::span<float> into, std::span<const float> from) {
  expects(into.size() == from.size(), "add: both sides have the same length");
  float* __restrict a = into.data();
  const float* __restrict b = from.data();
  const std::size_t count = into.size();
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) a[i] += b[i];
}

void copy(std::span<float> into, std::span<const float> from) {
  expects(into.size() == from.size(), "copy: both sides have the same length");
  if (!into.empty()) std::memcpy(into.data(), from.data(), into.size_bytes());
}

}  // namespace plimsoll::trainer
