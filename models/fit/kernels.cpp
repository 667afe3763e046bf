// Kernel tables: what operators took at generic shapes, by direction and by who else computed.
//
//     Machine::{matmul, convolution, pooling, elementwise, dispatch} = the measured points
//
// Source    Probes kernel.matmul, kernel.convolution, kernel.pooling, kernel.elementwise and
//           kernel.dispatch.
// Assumes   Shapes are generic grids: no workload's own shape was timed (tier `analytic`).
// Fails     -
// Limits    -
// Tests     tests/models/fit/fit_test.cpp.

#include "models/fit/parts.hpp"
#include "models/fit/reading.hpp"

namespace plimsoll::models {
namespace {

MatmulSample matmul(const Metric& metric) {
  return {.m = count_param(metric, "m", 1),
          .n = count_param(metric, "n", 1),
          .k = count_param(metric, "k", 1),
          .dtype = dtype_from(text_param(metric, "dtype")),
          .direction = direction_of(metric),
          .load = load_of(metric),
          .rate = estimate_of<FlopPerSecond>(metric)};
}

ConvolutionSample convolution(const Metric& metric) {
  return {.batch = count_param(metric, "batch", 1),
          .in_channels = count_param(metric, "in_channels", 1),
          .out_channels = count_param(metric, "out_channels", 1),
          .kernel = count_param(metric, "kernel", 1),
          .image = count_param(metric, "image", 1),
          .stride = count_param_or(metric, "stride", 1, 1),
          .padding = count_param_or(metric, "padding", 0, 0),
          .dtype = dtype_from(text_param(metric, "dtype")),
          .direction = direction_of(metric),
          .load = load_of(metric),
          .rate = estimate_of<FlopPerSecond>(metric)};
}

PoolSample pooling(const Metric& metric) {
  const bool is_max = text_param(metric, "mode") == "max";
  return {.mode = is_max ? Pool::Mode::max : Pool::Mode::average,
          .direction = direction_of(metric),
          .batch = count_param(metric, "batch", 1),
          .channels = count_param(metric, "channels", 1),
          .image = count_param(metric, "image", 1),
          .kernel = count_param(metric, "kernel", 1),
          .stride = count_param_or(metric, "stride", 1, 1),
          .bytes = Bytes(static_cast<double>(count_param(metric, "bytes", 1))),
          .load = load_of(metric),
          .bandwidth = estimate_of<BytesPerSecond>(metric)};
}

}  // namespace

bool take_kernels(const Metric& metric, Machine& machine) {
  if (metric.name == "kernel.matmul.rate") {
    machine.matmul.push_back(matmul(metric));
  } else if (metric.name == "kernel.convolution.rate") {
    machine.convolution.push_back(convolution(metric));
  } else if (metric.name == "kernel.pooling.bandwidth") {
    machine.pooling.push_back(pooling(metric));
  } else if (metric.name == "kernel.elementwise.bandwidth") {
    machine.elementwise.push_back(
        {.operation = text_param(metric, "operation"),
         .bytes = Bytes(static_cast<double>(count_param(metric, "bytes", 1))),
         .load = load_of(metric),
         .bandwidth = estimate_of<BytesPerSecond>(metric)});
  } else if (metric.name == "kernel.dispatch.time") {
    machine.dispatch.push_back(
        {.threads = load_of(metric).threads, .time = estimate_of<Seconds>(metric)});
  } else {
    return false;
  }
  return true;
}

}  // namespace plimsoll::models
