// Where each parameter lies in the flat buffers of weights, gradients and momentum.
//
// The order is that of the gradient buckets, so a bucket is one contiguous range and the optimizer
// one pass. Every parameter starts on a cache line; what lies between is zero and stays zero. In
// front of the first bucket some floats are reserved that are summed with it: what ranks tell each
// other about a step costs no message of its own.

#pragma once

#include <cstdint>
#include <vector>

#include "core/plan.hpp"

namespace plimsoll::trainer {

struct Range {
  std::int64_t begin = 0, end = 0;  // floats
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

struct FlatLayout {
  Range reserved;                   // floats in front
  std::vector<Range> parameters;    // in graph order
  std::vector<Range> buckets;       // the first includes what is reserved
  std::vector<int> ready_after_op;  // of each bucket
  std::int64_t total = 0;
};

[[nodiscard]] FlatLayout flat_layout(const Graph& graph, Bytes bucket_cap, std::int64_t reserved);

}  // namespace plimsoll::trainer
