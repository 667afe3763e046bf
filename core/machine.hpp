// What a machine can do, as plain data: the model's only knowledge of hardware. models/fit makes it
// from a machine report; a catalogue entry or a test may fill it by hand.
//
// Every figure is an Estimate: value, interval, kind and source. An empty table means that it was
// not measured; `missing` names what the model needs and does not find.

#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/estimate.hpp"
#include "core/units.hpp"
#include "core/workload.hpp"

namespace plimsoll {

struct ComputeCeiling {
  std::string dtype;            // f32 | f64 | bf16
  std::string instruction_set;  // avx512, amx, ...
  int cores = 1;
  Estimate<FlopPerSecond> rate{};  // of all these cores together
};

struct LoadLatency {
  Bytes working_set;
  std::string page;  // 4k | huge
  Estimate<Seconds> latency{};
};

struct StreamBandwidth {
  std::string kernel;  // read | write | nt_write | copy | triad
  Bytes working_set;   // of all cores together
  int cores = 1;
  Estimate<BytesPerSecond> bandwidth{};  // of all these cores together
};

// Who computed during a kernel measurement: the threads of the kernel itself, and how many other
// cores ran the same kernel meanwhile.
struct Load {
  int threads = 1;
  int busy_cores = 0;
  auto operator<=>(const Load&) const = default;
};

// A linear layer: m batch rows, n output features, k input features.
struct MatmulSample {
  std::int64_t m = 1, n = 1, k = 1;
  DType dtype = DType::f32;
  Direction direction = Direction::forward;
  Load load{};
  Estimate<FlopPerSecond> rate{};
};

struct ConvolutionSample {
  std::int64_t batch = 1, in_channels = 1, out_channels = 1, kernel = 1, image = 1, stride = 1,
               padding = 0;
  DType dtype = DType::f32;
  Direction direction = Direction::forward;
  Load load{};
  Estimate<FlopPerSecond> rate{};
};

struct PoolSample {
  Pool::Mode mode = Pool::Mode::max;
  Direction direction = Direction::forward;
  std::int64_t batch = 1, channels = 1, image = 1, kernel = 1, stride = 1;
  Bytes bytes;  // moved by one call, as cost_of() counts
  Load load{};
  Estimate<BytesPerSecond> bandwidth{};
};

struct ElementwiseSample {
  std::string operation;  // relu_forward, relu_backward, sgd_momentum, gather_u8, ...
  Bytes bytes;            // moved by one call
  Load load{};
  Estimate<BytesPerSecond> bandwidth{};
};

// One operator call that does next to nothing.
struct DispatchSample {
  int threads = 1;
  Estimate<Seconds> time{};
};

struct AllReduceSample {
  Bytes bytes;
  int ranks = 2;
  std::string comm;       // threads | mpi | nccl
  std::string algorithm;  // native | ring | ...
  Estimate<Seconds> time{};
};

struct StorageSample {
  std::int64_t block_bytes = 0;
  int queue_depth = 1;
  std::string engine, pattern;
  bool direct = false;
  Estimate<BytesPerSecond> bandwidth{};
};

struct RoundTripSample {
  std::string transport;  // tcp | shared_memory
  Bytes bytes;
  Estimate<Seconds> time{};
};

// The short loops that every report carries, to tell drift of the machine from error of the model.
struct ReferenceLoops {
  std::optional<Estimate<Seconds>> compute_f32, compute_bf16, memory;
};

struct Machine {
  std::string name;  // for messages: a path, a host, a catalogue entry
  // 0 when the report does not say.
  int usable_cores = 0;
  Bytes memory_capacity;

  std::vector<ComputeCeiling> compute;
  std::vector<LoadLatency> latencies;
  std::vector<StreamBandwidth> bandwidths;
  std::vector<MatmulSample> matmul;
  std::vector<ConvolutionSample> convolution;
  std::vector<PoolSample> pooling;
  std::vector<ElementwiseSample> elementwise;
  std::vector<DispatchSample> dispatch;
  std::vector<AllReduceSample> all_reduce;
  std::vector<StorageSample> storage;
  std::vector<RoundTripSample> round_trips;
  ReferenceLoops reference;

  // Independent spread of a rank's step, as standard deviation over mean, and the move of the whole
  // machine while the report was made (spread of the reference loops). Absent: not measured.
  std::optional<double> jitter_ratio;
  std::optional<double> drift_ratio;

  std::vector<std::string> missing;  // what the model needs and was not measured: metric names
};

}  // namespace plimsoll
