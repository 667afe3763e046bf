// Laying parameters out bucket after bucket.

#include "trainer/execution/flat_layout.hpp"

#include "core/error.hpp"

namespace plimsoll::trainer {
namespace {

constexpr std::int64_t kLine = 64 / sizeof(float);

std::int64_t whole_lines(std::int64_t floats) { return (floats + kLine - 1) / kLine * kLine; }

}  // namespace

FlatLayout flat_layout(const Graph& graph, Bytes bucket_cap, std::int64_t reserved) {
  std::vector<std::int64_t> sizes;
  for (const Op& op : graph.ops) {
    for (const Parameter& parameter : op.parameters) sizes.push_back(elements(parameter.shape));
  }
  FlatLayout layout;
  layout.reserved = {0, reserved};
  layout.parameters.resize(sizes.size());
  std::int64_t at = whole_lines(reserved);
  std::int64_t bucket_begin = 0;
  std::size_t placed = 0;
  for (const Bucket& bucket : buckets(graph, bucket_cap)) {
    for (const int index : bucket.parameters) {
      const auto i = static_cast<std::size_t>(index);
      expects(layout.parameters[i].end == 0, "a parameter lies in one bucket");
      layout.parameters[i] = {at, at + sizes[i]};
      at = whole_lines(at + sizes[i]);
      ++placed;
    }
    layout.buckets.push_back({bucket_begin, at});
    layout.ready_after_op.push_back(bucket.ready_after_op);
    bucket_begin = at;
  }
  expects(placed == sizes.size(), "every parameter lies in a bucket");
  layout.total = at;
  return layout;
}

}  // namespace plimsoll::trainer
