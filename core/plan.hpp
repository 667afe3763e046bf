// How a workload is laid on a machine. The words are those of the command line; both the model and
// the trainer read this struct, so a flag can never mean two things.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/units.hpp"
#include "core/workload.hpp"

namespace plimsoll {

struct Plan {
  std::string workload = "mlp";
  std::int64_t batch = 256;  // global: samples a step over all workers
  DType dtype = DType::f32;
  std::string device = "cpu";
  int workers = 1;
  int threads = 1;  // per worker
  std::string comm = "threads";
  std::string sync = "all_reduce";
  std::string algorithm = "native";  // native | ring
  Bytes bucket = Bytes(25.0 * 1024 * 1024);
  bool overlap = true;
  std::string execution = "eager";
  int loader_workers = 1;  // per rank; 0 loads in the training thread
  int prefetch = 2;        // batches held ready
  int accumulate = 1;      // micro-batches a step: their gradients add up, the last communicates
  std::string optimizer = {};  // sgd | adam | adamw; empty: the workload's own

  bool operator==(const Plan&) const = default;
};

// Samples of each worker: the global batch as evenly as possible, larger shares first (10 on 4 is
// 3, 3, 2, 2). A rank may get none.
[[nodiscard]] std::vector<std::int64_t> shares(std::int64_t batch, int workers);

// Error (usage) naming the flag, the value and what is possible; `usable_cpus` bounds
// workers x threads.
void check(const Plan& plan, int usable_cpus);

// A gradient bucket: parameters (indices into the flat list of all parameters in graph order) that
// are reduced together, in the order in which backward finishes them. Both sides use this rule:
// reverse graph order, parameters never split, a bucket closes once it holds `cap` bytes or more;
// the first one closes at min(cap, 1 MiB). That is the rule of PyTorch's DistributedDataParallel;
// pytorch/pytorch#48880 gives its sizes for ResNet-18, which a test holds.
struct Bucket {
  std::vector<int> parameters;
  Bytes bytes;
  int ready_after_op;  // index of the operator whose backward completes the bucket
};
[[nodiscard]] std::vector<Bucket> buckets(const Graph& graph, Bytes cap);

}  // namespace plimsoll
